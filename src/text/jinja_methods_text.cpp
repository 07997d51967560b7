// Methods of str that make other texts out of one.
#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_format.h"
#include "text/jinja_methods.h"
#include "text/jinja_text_parts.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

template <std::string (*kMap)(std::string_view)>
Value mapped(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("str method", args, {});
  runtime.heap.reserve(self.text().size() * 3);
  runtime.heap.work(self.text().size() * 4);
  return runtime.heap.text(Text::mapped(self.text(), kMap(self.bytes())));
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    const std::string_view character = text.substr(at, character_size(text, at));
    out += is_cased_upper(code_point(text, at)) ? lower(character) : upper(character);
  }
  return out;
}

std::string title(std::string_view text) {
  std::string out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    const std::uint32_t code = code_point(text, at);
    out += inside ? lower(text.substr(at, character_size(text, at))) : title_character(code);
    inside = is_cased_upper(code) || is_cased_lower(code);
  }
  return out;
}

template <bool kLeft, bool kRight>
Value strip_method(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("strip", args, {"chars"});
  const Text* set = bound.given(0) && !bound[0]->is_none() ? bound.exact_text(0) : nullptr;
  runtime.heap.work(self.text().size());
  return runtime.heap.text(strip(self.text(), set, {kLeft, kRight}));
}

template <bool kFromRight>
Value split_method(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("split", args, {"sep", "maxsplit"});
  const Text* separator = bound.given(0) && !bound[0]->is_none() ? bound.exact_text(0) : nullptr;
  if (separator != nullptr && separator->empty()) value_error("empty separator");
  runtime.heap.work(self.text().size() * 4);
  return text_list(runtime.heap,
                   split(runtime.heap, self.text(), separator, bound.integer(1, -1), kFromRight));
}

Value split_lines_method(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("splitlines", args, {"keepends"});
  runtime.heap.work(self.text().size() * 4);
  return text_list(runtime.heap, split_lines(runtime.heap, self.text(), bound.flag(0, false)));
}

template <bool kFromRight>
Value partition(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("partition", args, {"sep"}, 1);
  const Text& separator = *bound.exact_text(0);
  if (separator.empty()) value_error("empty separator");
  const Text& text = self.text();
  runtime.heap.work(text.size());
  const std::size_t hit =
      kFromRight ? text.bytes().rfind(separator.bytes()) : text.bytes().find(separator.bytes());
  std::vector<Text> parts(3);
  if (hit == std::string::npos) {
    parts[kFromRight ? 2 : 0] = text;
  } else {
    parts[0] = text.slice(0, hit);
    parts[1] = text.slice(hit, hit + separator.size());
    parts[2] = text.slice(hit + separator.size(), text.size());
  }
  return text_list(runtime.heap, parts, ListKind::tuple);
}

Value replace_method(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("replace", args, {"old", "new", "count"}, 2);
  const Text& from = *bound.exact_text(0);
  const Text& to = *bound.exact_text(1);
  return runtime.heap.text(
      replace_checked(runtime.heap, self.text(), from, to, bound.integer(2, -1)));
}

Value join_method(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("join", args, {"iterable"}, 1);
  const std::vector<Value> parts = iterate(runtime.heap, *bound[0]);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].is_text()) {
      type_error(
          fmt::format("sequence item {}: expected str instance, {} found", i, type_name(parts[i])));
    }
  }
  return runtime.heap.text(join(runtime.heap, self.text(), parts));
}

Value format_method(Runtime& runtime, const Value& self, const Args& args) {
  return runtime.heap.text(brace_format(runtime.heap, self.text(), args));
}

Text fill_of(const Bound& bound) {
  if (!bound.given(1)) return Text(" ");
  const Text& fill = *bound.exact_text(1);
  if (character_count(fill.bytes()) != 1) {
    type_error("The fill character must be exactly one character long");
  }
  return fill;
}

Value center(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("center", args, {"width", "fillchar"}, 1);
  return runtime.heap.text(
      centered(runtime.heap, self.text(), bound.integer(0, 0), fill_of(bound)));
}

template <bool kLeft>
Value justify(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("ljust", args, {"width", "fillchar"}, 1);
  const Text fill = fill_of(bound);
  const auto size = static_cast<std::int64_t>(character_count(self.bytes()));
  const std::int64_t missing = std::max<std::int64_t>(bound.integer(0, 0) - size, 0);
  runtime.heap.reserve(self.text().size() + static_cast<std::size_t>(missing) * fill.size());
  Text out = kLeft ? self.text() : Text();
  for (std::int64_t i = 0; i < missing; ++i) out.append(fill);
  if (!kLeft) out.append(self.text());
  return runtime.heap.text(std::move(out));
}

Value zero_fill(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("zfill", args, {"width"}, 1);
  const auto size = static_cast<std::int64_t>(character_count(self.bytes()));
  const std::int64_t missing = std::max<std::int64_t>(bound.integer(0, 0) - size, 0);
  runtime.heap.reserve(self.text().size() + static_cast<std::size_t>(missing));
  const bool sign = self.bytes().starts_with('-') || self.bytes().starts_with('+');
  Text out = self.text().slice(0, sign ? 1 : 0);
  out.append(std::string(static_cast<std::size_t>(missing), '0'));
  out.append(self.text(), sign ? 1 : 0, self.text().size());
  return runtime.heap.text(std::move(out));
}

template <bool kPrefix>
Value remove_affix(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("removeprefix", args, {"affix"}, 1);
  const Text& affix = *bound.exact_text(0);
  const Text& text = self.text();
  if (kPrefix && text.bytes().starts_with(affix.bytes())) {
    return runtime.heap.text(text.slice(affix.size(), text.size()));
  }
  if (!kPrefix && text.bytes().ends_with(affix.bytes())) {
    return runtime.heap.text(text.slice(0, text.size() - affix.size()));
  }
  return self;
}

Value expand_tabs(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("expandtabs", args, {"tabsize"});
  const std::int64_t size = bound.integer(0, 8);
  const std::string& bytes = self.bytes();
  Text out;
  std::int64_t column = 0;
  for (std::size_t at = 0; at < bytes.size(); at += character_size(bytes, at)) {
    if (bytes[at] == '\t') {
      const std::int64_t gap = size > 0 ? size - column % size : 0;
      runtime.heap.reserve(out.size() + static_cast<std::size_t>(gap));
      out.append(std::string(static_cast<std::size_t>(gap), ' '));
      column += gap;
    } else {
      out.append(self.text(), at, at + character_size(bytes, at));
      column = bytes[at] == '\n' || bytes[at] == '\r' ? 0 : column + 1;
    }
  }
  return runtime.heap.text(std::move(out));
}

Value translate(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("translate", args, {"table"}, 1);
  const std::string& bytes = self.bytes();
  Text out;
  for (std::size_t at = 0; at < bytes.size(); at += character_size(bytes, at)) {
    runtime.heap.step();
    runtime.heap.reserve(out.size());
    const Value code(static_cast<std::int64_t>(code_point(bytes, at)));
    const auto found = item(runtime.heap, *bound[0], code);
    if (!found) {
      out.append(self.text(), at, at + character_size(bytes, at));
    } else if (found->is_text()) {
      out.append(found->text());
    } else if (!found->is_none()) {
      std::string character;
      append_code_point(character, static_cast<std::uint32_t>(to_index(*found)));
      out.append(character);
    }
  }
  return runtime.heap.text(std::move(out));
}

// bytes are no value of ours: what a template can do with them is print them.
class Bytes final : public Object {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string_view type_name() const override { return "bytes"; }
  std::string repr() const override {
    std::string out = bytes_.find('\'') != std::string::npos ? "b\"" : "b'";
    const char quote = out.back();
    for (const char c : bytes_) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == quote || c == '\\') out += '\\';
      if (c == '\n') {
        out += "\\n";
      } else if (byte < 0x20 || byte > 0x7E) {
        out += fmt::format("\\x{:02x}", byte);
      } else {
        out += c;
      }
    }
    return out + quote;
  }

 private:
  std::string bytes_;
};

Value encode(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("encode", args, {"encoding", "errors"});
  runtime.heap.reserve(self.text().size() * 4);
  return Value(ObjectPtr(runtime.heap.object<Bytes>(1, self.bytes())));
}

constexpr Method kMethods[] = {
    {"upper", mapped<upper>},
    {"lower", mapped<lower>},
    {"casefold", mapped<casefold>},
    {"capitalize", mapped<capitalize>},
    {"swapcase", mapped<swap_case>},
    {"title", mapped<title>},
    {"strip", strip_method<true, true>},
    {"lstrip", strip_method<true, false>},
    {"rstrip", strip_method<false, true>},
    {"split", split_method<false>},
    {"rsplit", split_method<true>},
    {"splitlines", split_lines_method},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"replace", replace_method},
    {"join", join_method},
    {"format", format_method},
    {"center", center},
    {"ljust", justify<true>},
    {"rjust", justify<false>},
    {"zfill", zero_fill},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"expandtabs", expand_tabs},
    {"translate", translate},
    {"encode", encode},
};

}  // namespace

std::span<const Method> text_methods() { return kMethods; }

}  // namespace linnet::jinja
