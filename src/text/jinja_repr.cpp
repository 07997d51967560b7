#include "text/jinja_repr.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

void append_escaped(std::string& out, std::uint32_t code, char quote) {
  if (code == static_cast<std::uint32_t>(quote) || code == '\\') {
    out.push_back('\\');
    out.push_back(static_cast<char>(code));
  } else if (code == '\n' || code == '\r' || code == '\t') {
    out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
  } else if (is_printable(code)) {
    append_code_point(out, code);
  } else if (code < 0x100) {
    out += fmt::format("\\x{:02x}", code);
  } else if (code < 0x10000) {
    out += fmt::format("\\u{:04x}", code);
  } else {
    out += fmt::format("\\U{:08x}", code);
  }
}

// Writes reprs one after another into one text, whose size is checked as it grows.
class ReprWriter {
 public:
  explicit ReprWriter(Heap& heap) : heap_(heap) {}

  void write(const Value& value) {
    const Heap::Level level(heap_);
    heap_.step();
    heap_.reserve(out_.size());
    switch (value.type()) {
      case Type::undefined:
        out_ += "Undefined";
        break;
      case Type::none:
        out_ += "None";
        break;
      case Type::boolean:
        out_ += value.boolean() ? "True" : "False";
        break;
      case Type::integer:
        out_ += std::to_string(value.integer());
        break;
      case Type::big_integer:
        out_ += value.whole().to_string();
        break;
      case Type::real:
        out_ += real_repr(value.real());
        break;
      case Type::text:
        write_text(value.text());
        break;
      case Type::list:
        write_list(*value.list());
        break;
      case Type::dict:
        write_dict(*value.dict());
        break;
      case Type::object:
        out_ += value.object()->repr();
        break;
    }
  }

  Text take() { return input_ ? Text::from_input(std::move(out_)) : Text(std::move(out_)); }

 private:
  void write_text(const Text& text) {
    input_ = input_ || text.has_input();
    heap_.work(text.size() * 4);
    if (text.markup()) out_ += "Markup(";
    out_ += quoted(text.bytes());
    if (text.markup()) out_ += ")";
  }

  void write_list(const ListData& list) {
    static constexpr std::string_view kOpen[] = {
        "[", "(", "", "<generator object>", "dict_keys([", "dict_values([", "dict_items(["};
    static constexpr std::string_view kClose[] = {"]", ")", "", "", "])", "])", "])"};
    const auto kind = static_cast<std::size_t>(list.kind);
    out_ += kOpen[kind];
    if (list.kind == ListKind::range) out_ += list.shown;
    if (list.kind == ListKind::range || list.kind == ListKind::generator) return;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i != 0) out_ += ", ";
      write(list.items[i]);
    }
    if (list.kind == ListKind::tuple && list.items.size() == 1) out_ += ",";
    out_ += kClose[kind];
  }

  void write_dict(const DictData& dict) {
    out_ += "{";
    for (std::size_t i = 0; i < dict.members.size(); ++i) {
      if (i != 0) out_ += ", ";
      write(dict.members[i].first);
      out_ += ": ";
      write(dict.members[i].second);
    }
    out_ += "}";
  }

  Heap& heap_;
  std::string out_;
  bool input_ = false;
};

}  // namespace

std::string quoted(std::string_view text) {
  const bool single = text.find('\'') != std::string_view::npos;
  const char quote = single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    append_escaped(out, code_point(text, at), quote);
  }
  out.push_back(quote);
  return out;
}

std::string real_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // The shortest digits that read back, as d.ddde+xx; then the point is put where Python puts it.
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string_view shortest(buffer, static_cast<std::size_t>(end.ptr - buffer));
  const std::size_t e = shortest.find('e');
  const int exponent = std::stoi(std::string(shortest.substr(e + 1)));
  std::string sign;
  std::string digits;
  for (const char c : shortest.substr(0, e)) {
    if (c == '-') sign = "-";
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  if (exponent < -4 || exponent >= 16) {
    if (digits.size() > 1) digits.insert(1, ".");
    return fmt::format("{}{}e{}{:02}", sign, digits, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto point = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= point) return sign + digits + std::string(point - digits.size(), '0') + ".0";
  return sign + digits.insert(point, ".");
}

Text repr(Heap& heap, const Value& value) {
  ReprWriter writer(heap);
  writer.write(value);
  return writer.take();
}

Text to_text(Heap& heap, const Value& value) {
  if (value.is_text()) return value.text();
  if (value.is_undefined()) return Text();
  return repr(heap, value);
}

Value to_text_value(Heap& heap, const Value& value) {
  return value.is_text() ? value : heap.text(to_text(heap, value));
}

}  // namespace linnet::jinja
