#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"

namespace linnet {
namespace {

void append_escape(std::string& out, unsigned unit) { out += fmt::format("\\u{:04x}", unit); }

void append_code(std::string& out, char32_t code, std::string_view source, bool ascii_only) {
  if (code == '"') {
    out += "\\\"";
  } else if (code == '\\') {
    out += "\\\\";
  } else if (code == '\n') {
    out += "\\n";
  } else if (code == '\r') {
    out += "\\r";
  } else if (code == '\t') {
    out += "\\t";
  } else if (code == '\b') {
    out += "\\b";
  } else if (code == '\f') {
    out += "\\f";
  } else if (code < 0x20) {
    append_escape(out, code);
  } else if (code < 0x7F || !ascii_only) {
    out += source;
  } else if (code < 0x10000) {
    append_escape(out, code);
  } else {
    append_escape(out, 0xD800 + ((code - 0x10000) >> 10));
    append_escape(out, 0xDC00 + ((code - 0x10000) & 0x3FF));
  }
}

class Writer {
 public:
  explicit Writer(Json::WriteOptions options) : options_(options) {}

  void write(const Json& value) {
    if (value.is_null()) {
      out_ += "null";
    } else if (value.is_bool()) {
      out_ += value.as_bool() ? "true" : "false";
    } else if (value.is_int()) {
      out_ += fmt::format("{}", value.as_int());
    } else if (value.is_large_int()) {
      out_ += value.large_digits();
    } else if (value.is_double()) {
      out_ += json_number(value.as_double());
    } else if (value.is_string()) {
      out_ += json_quote(value.as_string(), options_.ascii_only);
    } else if (value.is_array()) {
      write_array(value.as_array());
    } else {
      write_object(value.as_object());
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void write_array(const Json::Array& items) {
    if (items.empty()) return void(out_ += "[]");
    out_ += '[';
    ++depth_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      separate(i == 0);
      write(items[i]);
    }
    --depth_;
    new_line();
    out_ += ']';
  }

  void write_object(const Json::Object& members) {
    if (members.empty()) return void(out_ += "{}");
    out_ += '{';
    ++depth_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      separate(i == 0);
      out_ += json_quote(members[i].first, options_.ascii_only);
      out_ += options_.spaced || options_.indent >= 0 ? ": " : ":";
      write(members[i].second);
    }
    --depth_;
    new_line();
    out_ += '}';
  }

  void separate(bool first) {
    if (!first) out_ += options_.spaced && options_.indent < 0 ? ", " : ",";
    new_line();
  }

  void new_line() {
    if (options_.indent < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(options_.indent * depth_), ' ');
  }

  Json::WriteOptions options_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string json_quote(std::string_view text, bool ascii_only) {
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    const bool valid = step.kind == Utf8Step::Kind::valid;
    const std::string_view source = valid ? text.substr(0, step.length) : kReplacementText;
    append_code(out, valid ? step.point : kReplacementPoint, source, ascii_only);
    text.remove_prefix(step.length);
  }
  out += '"';
  return out;
}

std::string json_number(double value) {
  // JSON has no such numbers; null is what every reader accepts.
  if (!std::isfinite(value)) return "null";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string Json::dump(WriteOptions options) const {
  Writer writer(options);
  writer.write(*this);
  return writer.take();
}

std::string Json::dump() const { return dump(WriteOptions{}); }

}  // namespace linnet
