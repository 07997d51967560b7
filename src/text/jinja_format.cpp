#include "text/jinja_format.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "text/jinja_number_format.h"
#include "text/jinja_operators.h"
#include "text/jinja_repr.h"

namespace linnet::jinja {
namespace {

// Reads one pattern of printf's kind from left to right.
class PercentFormatter {
 public:
  PercentFormatter(Heap& heap, const Text& pattern, const Value& values)
      : heap_(heap), pattern_(pattern), values_(values) {}

  Text run() {
    const std::string& bytes = pattern_.bytes();
    while (at_ < bytes.size()) {
      const std::size_t percent = std::min(bytes.find('%', at_), bytes.size());
      out_.append(pattern_, at_, percent);
      at_ = percent + 1;
      if (percent < bytes.size()) conversion();
      heap_.step();
      heap_.reserve(out_.size());
    }
    const bool tuple = is_tuple();
    const bool all_used =
        tuple ? next_ >= values_.list()->items.size()
              : next_ > 0 || values_.is_dict() || values_.is_list() || values_.is_undefined();
    if (!all_used) type_error("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  bool is_tuple() const { return values_.is_list() && values_.list()->kind == ListKind::tuple; }

  char peek() const {
    if (at_ >= pattern_.size()) value_error("incomplete format");
    return pattern_.bytes()[at_];
  }

  Value next_value() {
    if (!is_tuple()) {
      if (next_++ > 0) type_error("not enough arguments for format string");
      return values_;
    }
    if (next_ >= values_.list()->items.size()) type_error("not enough arguments for format string");
    return values_.list()->items[next_++];
  }

  std::int64_t read_count() {
    if (peek() == '*') {
      ++at_;
      const Value count = next_value();
      if (!count.is(Type::integer)) type_error("* wants int");
      return std::min<std::int64_t>(count.integer(), 1 << 30);
    }
    std::int64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = std::min<std::int64_t>(value * 10 + (peek() - '0'), 1 << 30);
      ++at_;
    }
    return value;
  }

  void conversion() {
    Layout layout;
    layout.align = '>';
    std::optional<Value> named;
    if (peek() == '(') named = named_value();
    for (; std::string_view("-+ 0#").find(peek()) != std::string_view::npos; ++at_) {
      const char flag = peek();
      if (flag == '-') layout.align = '<';
      if (flag == '+' || flag == ' ') layout.sign = flag;
      if (flag == '#') layout.alternate = true;
      if (flag == '0' && layout.align == '>') layout.align = '=';
    }
    layout.width = read_count();
    if (peek() == '.') {
      ++at_;
      layout.precision = read_count();
    }
    while (std::string_view("hlL").find(peek()) != std::string_view::npos) ++at_;
    const char type = peek();
    ++at_;
    if (type == '%') {
      out_.append("%");
      return;
    }
    convert(type, layout, named ? *named : next_value());
  }

  Value named_value() {
    const std::size_t close = pattern_.bytes().find(')', at_);
    if (close == std::string::npos) value_error("incomplete format key");
    if (!values_.is_dict()) type_error("format requires a mapping");
    const std::string key = pattern_.bytes().substr(at_ + 1, close - at_ - 1);
    const Value* value = values_.dict()->find(std::string_view(key));
    if (value == nullptr) value_error(fmt::format("'{}'", key));
    at_ = close + 1;
    return *value;
  }

  void convert(char type, Layout layout, const Value& value) {
    if (type == 's' || type == 'r' || type == 'a') {
      if (layout.align == '=') layout.align = '>';
      const Text text = type == 's' ? to_text(heap_, value) : repr(heap_, value);
      out_.append(layout_text(heap_, text, layout));
      return;
    }
    if (std::string_view("diuoxXeEfFgGc").find(type) == std::string_view::npos) {
      value_error(fmt::format("unsupported format character '{}'", type));
    }
    if (type == 'c' && value.is_text()) {
      if (length(value) != 1) type_error("%c requires int or char");
      out_.append(layout_text(heap_, value.text(), layout));
      return;
    }
    if (type == 'c' && value.is(Type::real)) type_error("%c requires int or char");
    if (!value.is_number()) {
      if (value.is_undefined()) missing_fault(value);
      type_error(
          fmt::format("%{} format: a real number is required, not {}", type, type_name(value)));
    }
    if (layout.align == '=') layout.fill = "0";
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    layout.type = decimal ? 'd' : type;
    if (decimal) layout.precision = -1;
    const bool cut = decimal && value.is(Type::real);
    if (cut && !std::isfinite(value.real()))
      value_error("cannot convert float infinity or NaN to integer");
    out_.append(
        layout_number(heap_, cut ? Value(Integer::from_double(value.real())) : value, layout));
  }

  Heap& heap_;
  const Text& pattern_;
  const Value& values_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;
  Text out_;
};

class BraceFormatter {
 public:
  BraceFormatter(Heap& heap, const Text& pattern, const Args& args)
      : heap_(heap), pattern_(pattern), args_(args) {}

  Text run() {
    const std::string& bytes = pattern_.bytes();
    while (at_ < bytes.size()) {
      const std::size_t brace = std::min(bytes.find_first_of("{}", at_), bytes.size());
      out_.append(pattern_, at_, brace);
      at_ = brace + 1;
      if (brace == bytes.size()) break;
      heap_.step();
      heap_.reserve(out_.size());
      if (at_ < bytes.size() && bytes[at_] == bytes[brace]) {
        out_.append(pattern_, at_, at_ + 1);
        ++at_;
      } else if (bytes[brace] == '}') {
        value_error("Single '}' encountered in format string");
      } else {
        field();
      }
    }
    return std::move(out_);
  }

 private:
  // {name!conversion:spec}; the spec may hold fields itself, one level deep.
  void field() {
    const std::string& bytes = pattern_.bytes();
    std::size_t end = at_;
    for (int open = 1; end < bytes.size(); ++end) {
      if (bytes[end] == '{') ++open;
      if (bytes[end] == '}' && --open == 0) break;
    }
    if (end >= bytes.size()) value_error("expected '}' before end of string");
    const std::string_view inner = std::string_view(bytes).substr(at_, end - at_);
    at_ = end + 1;
    const std::size_t stop = std::min(inner.find_first_of("!:"), inner.size());
    char conversion = 0;
    std::size_t colon = stop;
    if (stop < inner.size() && inner[stop] == '!') {
      if (stop + 1 >= inner.size()) value_error("unmatched '{' in format spec");
      conversion = inner[stop + 1];
      colon = stop + 2;
    }
    if (colon < inner.size() && inner[colon] != ':')
      value_error("expected ':' after conversion specifier");
    const Value value = lookup(inner.substr(0, stop));
    const std::string_view spec =
        colon < inner.size() ? inner.substr(colon + 1) : std::string_view();
    out_.append(shown(value, conversion, expanded(spec)));
  }

  std::string expanded(std::string_view spec) {
    std::string out;
    for (std::size_t at = 0; at < spec.size();) {
      if (spec[at] != '{') {
        out.push_back(spec[at++]);
        continue;
      }
      const std::size_t close = spec.find('}', at);
      if (close == std::string_view::npos) value_error("expected '}' before end of string");
      out += to_text(heap_, lookup(spec.substr(at + 1, close - at - 1))).bytes();
      at = close + 1;
    }
    return out;
  }

  Text shown(const Value& value, char conversion, const std::string& spec) {
    if (conversion != 0 && std::string_view("rsa").find(conversion) == std::string_view::npos) {
      value_error(fmt::format("Unknown conversion specifier {}", conversion));
    }
    if (conversion == 'r' || conversion == 'a') {
      return layout_text(heap_, repr(heap_, value), parse_layout(spec));
    }
    if (conversion != 's' && value.is_number() && !(value.is(Type::boolean) && spec.empty())) {
      const Layout layout = parse_layout(spec);
      if (value.is_whole() && layout.precision >= 0 &&
          std::string_view("eEfFgG%").find(layout.type) == std::string_view::npos) {
        value_error("Precision not allowed in integer format specifier");
      }
      return layout_number(heap_, value, layout);
    }
    const bool plain = value.is_text() || value.is(Type::boolean);
    if (!spec.empty() && !plain && conversion != 's') {
      type_error(
          fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
    }
    return layout_text(heap_, to_text(heap_, value), parse_layout(spec));
  }

  Value lookup(std::string_view path) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    Value value = root(path.substr(0, end));
    for (std::size_t at = end; at < path.size();) {
      // An attribute of plain data is a method: the sandbox shows nothing for it.
      const bool attribute = path[at] == '.';
      const std::size_t stop =
          attribute ? std::min(path.find_first_of(".[", at + 1), path.size()) : path.find(']', at);
      if (stop == std::string_view::npos) value_error("Missing ']' in format string");
      const std::string_view key = path.substr(at + 1, stop - at - 1);
      value = attribute ? Value::undefined("no such attribute") : member(value, key);
      at = attribute ? stop : stop + 1;
    }
    return value;
  }

  Value member(const Value& value, std::string_view key) {
    const auto index = Integer::parse(key, 10);
    const Value wanted = index ? Value(*index) : heap_.text(std::string(key));
    const auto found = item(heap_, value, wanted);
    if (!found) value_error(fmt::format("'{}'", key));
    return *found;
  }

  Value root(std::string_view name) {
    const auto index = Integer::parse(name, 10);
    if (name.empty() || index) {
      const auto at = index ? index->to_int64().value_or(-1) : next_++;
      if (at < 0 || static_cast<std::size_t>(at) >= args_.positional.size()) {
        value_error("Replacement index out of range for positional args tuple");
      }
      return args_.positional[static_cast<std::size_t>(at)];
    }
    for (const auto& [key, value] : args_.named) {
      if (key == name) return value;
    }
    value_error(fmt::format("'{}'", name));
  }

  Heap& heap_;
  const Text& pattern_;
  const Args& args_;
  std::size_t at_ = 0;
  std::int64_t next_ = 0;
  Text out_;
};

}  // namespace

Text percent_format(Heap& heap, const Text& pattern, const Value& values) {
  return PercentFormatter(heap, pattern, values).run();
}

Text brace_format(Heap& heap, const Text& pattern, const Args& args) {
  return BraceFormatter(heap, pattern, args).run();
}

Text html_escape(const Text& text) {
  static constexpr std::string_view kSpecial = "&<>'\"";
  static constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  Text out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t hit = std::min(text.bytes().find_first_of(kSpecial, at), text.size());
    out.append(text, at, hit);
    if (hit < text.size()) out.append(kEntities[kSpecial.find(text.bytes()[hit])]);
    at = hit + 1;
  }
  out.set_markup(true);
  return out;
}

}  // namespace linnet::jinja
