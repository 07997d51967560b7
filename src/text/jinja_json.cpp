#include "text/jinja_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "text/jinja_operators.h"
#include "text/jinja_repr.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

std::string real_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return real_repr(value);
}

void append_unit(std::string& out, std::uint32_t unit) { out += fmt::format("\\u{:04x}", unit); }

std::string json_text(std::string_view text, bool ascii) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    const std::uint32_t code = code_point(text, at);
    switch (code) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (code < 0x20 || (ascii && code > 0x7E && code < 0x10000)) {
          append_unit(out, code);
        } else if (ascii && code >= 0x10000) {
          append_unit(out, 0xD800 + ((code - 0x10000) >> 10));
          append_unit(out, 0xDC00 + ((code - 0x10000) & 0x3FF));
        } else {
          append_code_point(out, code);
        }
    }
  }
  return out + "\"";
}

class JsonWriter {
 public:
  JsonWriter(Heap& heap, const JsonStyle& style) : heap_(heap), style_(style) {}

  void write(const Value& value, int level) {
    const Heap::Level depth(heap_);
    heap_.step();
    heap_.reserve(out_.size());
    switch (value.type()) {
      case Type::none:
        out_ += "null";
        break;
      case Type::boolean:
        out_ += value.boolean() ? "true" : "false";
        break;
      case Type::integer:
        out_ += std::to_string(value.integer());
        break;
      case Type::big_integer:
        out_ += value.whole().to_string();
        break;
      case Type::real:
        out_ += real_json(value.real());
        break;
      case Type::text:
        write_text(value.text());
        break;
      case Type::list:
        write_list(value, level);
        break;
      case Type::dict:
        write_dict(*value.dict(), level);
        break;
      default:
        refuse(value);
    }
  }

  Text take() { return input_ ? Text::from_input(std::move(out_)) : Text(std::move(out_)); }

 private:
  [[noreturn]] static void refuse(const Value& value) {
    type_error(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
  }

  void write_text(const Text& text) {
    input_ = input_ || text.has_input();
    heap_.work(text.size() * 4);
    out_ += json_text(text.bytes(), style_.ensure_ascii);
  }

  void write_list(const Value& value, int level) {
    const ListData& list = *value.list();
    if (list.kind != ListKind::list && list.kind != ListKind::tuple) refuse(value);
    if (list.items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += "[";
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      separate(i == 0, level + 1);
      write(list.items[i], level + 1);
    }
    close(level);
    out_ += "]";
  }

  void write_dict(const DictData& dict, int level) {
    if (dict.members.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<const DictData::Member*> members;
    for (const auto& member : dict.members) members.push_back(&member);
    if (style_.sort_keys) {
      heap_.work(members.size() * sizeof(Value) * 16);
      std::stable_sort(members.begin(), members.end(),
                       [](const auto* a, const auto* b) { return less(a->first, b->first); });
    }
    out_ += "{";
    for (std::size_t i = 0; i < members.size(); ++i) {
      separate(i == 0, level + 1);
      write_key(members[i]->first);
      out_ += style_.key_separator;
      write(members[i]->second, level + 1);
    }
    close(level);
    out_ += "}";
  }

  void write_key(const Value& key) {
    if (key.is_text()) return write_text(key.text());
    if (!key.is_number() && !key.is_none()) {
      type_error(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
    out_ += "\"";
    write(key, 0);
    out_ += "\"";
  }

  void separate(bool first, int level) {
    if (!first) out_ += style_.item_separator;
    if (style_.indent) new_line(level);
  }

  void close(int level) {
    if (style_.indent) new_line(level);
  }

  void new_line(int level) {
    heap_.reserve(out_.size() + style_.indent->size() * static_cast<std::size_t>(level));
    out_ += "\n";
    for (int i = 0; i < level; ++i) out_ += *style_.indent;
  }

  Heap& heap_;
  const JsonStyle& style_;
  std::string out_;
  bool input_ = false;
};

}  // namespace

Text to_json(Heap& heap, const Value& value, const JsonStyle& style) {
  JsonWriter writer(heap, style);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace linnet::jinja
