#include "text/json_scanner.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace linnet {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char32_t hex_unit(std::string_view quoted, std::size_t at) {
  char32_t unit = 0;
  for (const char c : quoted.substr(at, 4)) unit = unit << 4 | static_cast<char32_t>(hex_value(c));
  return unit;
}

// `at` is behind \u; moves behind the escape, or behind both of a pair.
char32_t escaped_point(std::string_view quoted, std::size_t& at) {
  const char32_t unit = hex_unit(quoted, at);
  at += 4;
  if (unit < 0xD800 || unit > 0xDFFF) return unit;
  if (unit > 0xDBFF || quoted.substr(at, 2) != "\\u") return kReplacementPoint;
  const char32_t low = hex_unit(quoted, at + 2);
  if (low < 0xDC00 || low > 0xDFFF) return kReplacementPoint;
  at += 6;
  return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

char simple_escape(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;
  }
}

}  // namespace

std::string_view trim_json_space(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kJsonSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kJsonSpace) + 1 - begin);
}

JsonScanner::State JsonScanner::scan(std::string_view text, std::size_t& at) {
  while (at < text.size()) {
    const Step result = step(text[at]);
    if (result == Step::fault) return State::fault;
    if (result == Step::next) ++at;
    if (expect_ == Expect::end) return State::done;
  }
  return State::more;
}

bool JsonScanner::finish() const {
  if (!objects_.empty()) return false;
  return expect_ == Expect::end || expect_ == Expect::zero || expect_ == Expect::digits ||
         expect_ == Expect::fraction || expect_ == Expect::power;
}

JsonScanner::Step JsonScanner::step(char c) {
  if (expect_ < Expect::text) return is_json_space(c) ? Step::next : structure(c);
  if (expect_ <= Expect::hex) return text_step(c);
  if (expect_ >= Expect::minus_digit) return number_step(c);
  if (c != word_.front()) return Step::fault;
  word_.remove_prefix(1);
  return word_.empty() ? end_value() : Step::next;
}

JsonScanner::Step JsonScanner::structure(char c) {
  switch (expect_) {
    case Expect::value_or_close:
      return c == ']' ? close(false) : begin_value(c);
    case Expect::value:
      return begin_value(c);
    case Expect::key_or_close:
    case Expect::key:
      if (c == '}' && expect_ == Expect::key_or_close) return close(true);
      if (c != '"') return Step::fault;
      is_key_ = true;
      expect_ = Expect::text;
      return Step::next;
    case Expect::colon:
      if (c != ':') return Step::fault;
      expect_ = Expect::value;
      return Step::next;
    case Expect::comma_or_close:
      if (c == '}' || c == ']') return close(c == '}');
      if (c != ',') return Step::fault;
      expect_ = objects_.back() ? Expect::key : Expect::value;
      return Step::next;
    default:
      LINNET_CHECK(false, "scanned behind the value");
      return Step::fault;
  }
}

JsonScanner::Step JsonScanner::begin_value(char c) {
  if (c == '{' || c == '[') return open(c == '{');
  if (c == '"') {
    is_key_ = false;
    expect_ = Expect::text;
  } else if (c == 't' || c == 'f' || c == 'n') {
    word_ = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
    expect_ = Expect::word;
  } else if (c == '-') {
    expect_ = Expect::minus_digit;
  } else if (is_digit(c)) {
    expect_ = c == '0' ? Expect::zero : Expect::digits;
  } else {
    return Step::fault;
  }
  return Step::next;
}

JsonScanner::Step JsonScanner::text_step(char c) {
  if (expect_ == Expect::hex) {
    if (hex_value(c) < 0) return Step::fault;
    if (--hex_left_ == 0) expect_ = Expect::text;
  } else if (expect_ == Expect::escape) {
    if (std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos) {
      return Step::fault;
    }
    expect_ = c == 'u' ? Expect::hex : Expect::text;
    hex_left_ = 4;
  } else if (c == '"') {
    if (!is_key_) return end_value();
    expect_ = Expect::colon;
  } else if (c == '\\') {
    expect_ = Expect::escape;
  } else if (static_cast<unsigned char>(c) < 0x20) {
    return Step::fault;
  }
  return Step::next;
}

JsonScanner::Step JsonScanner::number_step(char c) {
  const bool digit = is_digit(c);
  switch (expect_) {
    case Expect::minus_digit:
      if (!digit) return Step::fault;
      expect_ = c == '0' ? Expect::zero : Expect::digits;
      return Step::next;
    case Expect::exponent:
      if (c == '+' || c == '-') {
        expect_ = Expect::exponent_digit;
        return Step::next;
      }
      [[fallthrough]];
    case Expect::exponent_digit:
    case Expect::point_digit:
      if (!digit) return Step::fault;
      expect_ = expect_ == Expect::point_digit ? Expect::fraction : Expect::power;
      return Step::next;
    default:
      break;
  }
  if (digit && expect_ != Expect::zero) return Step::next;
  const bool whole = expect_ == Expect::zero || expect_ == Expect::digits;
  if (c == '.' && whole) {
    expect_ = Expect::point_digit;
    return Step::next;
  }
  if ((c == 'e' || c == 'E') && expect_ != Expect::power) {
    expect_ = Expect::exponent;
    return Step::next;
  }
  end_value();
  return Step::again;
}

JsonScanner::Step JsonScanner::open(bool object) {
  objects_.push_back(object);
  expect_ = object ? Expect::key_or_close : Expect::value_or_close;
  return Step::next;
}

JsonScanner::Step JsonScanner::close(bool object) {
  if (objects_.back() != object) return Step::fault;
  objects_.pop_back();
  return end_value();
}

JsonScanner::Step JsonScanner::end_value() {
  expect_ = objects_.empty() ? Expect::end : Expect::comma_or_close;
  return Step::next;
}

std::optional<std::size_t> scan_json_value(std::string_view text, std::size_t& at) {
  JsonScanner scanner;
  const JsonScanner::State state = scanner.scan(text, at);
  if (state == JsonScanner::State::fault) return std::nullopt;
  if (state == JsonScanner::State::more && !scanner.finish()) return std::nullopt;
  return at;
}

std::vector<JsonMember> json_members(std::string_view object) {
  std::vector<JsonMember> members;
  const auto skip_space = [&](std::size_t at) {
    return std::min(object.find_first_not_of(kJsonSpace, at), object.size());
  };
  const auto take_value = [&](std::size_t& at) {
    const std::size_t begin = at = skip_space(at);
    const auto end = scan_json_value(object, at);
    LINNET_CHECK(end.has_value(), "an object that no scanner has accepted");
    return object.substr(begin, *end - begin);
  };
  std::size_t at = skip_space(skip_space(0) + 1);
  while (at < object.size() && object[at] != '}') {
    JsonMember member;
    member.key = json_string_content(take_value(at));
    at = skip_space(at) + 1;  // the colon
    member.value = take_value(at);
    members.push_back(std::move(member));
    at = skip_space(at);
    if (at < object.size() && object[at] == ',') at = skip_space(at + 1);
  }
  return members;
}

std::optional<std::string_view> last_member(const std::vector<JsonMember>& members,
                                            std::string_view key) {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->key == key) return member->value;
  }
  return std::nullopt;
}

std::string json_string_content(std::string_view quoted) {
  LINNET_CHECK(quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"');
  std::string content;
  const std::size_t end = quoted.size() - 1;
  for (std::size_t at = 1; at < end;) {
    if (quoted[at] != '\\') {
      const std::size_t stop = std::min(quoted.find('\\', at), end);
      content += quoted.substr(at, stop - at);
      at = stop;
      continue;
    }
    const char escape = quoted[at + 1];
    at += 2;
    if (escape == 'u') {
      append_utf8(content, escaped_point(quoted, at));
    } else {
      content += simple_escape(escape);
    }
  }
  return content;
}

}  // namespace linnet
