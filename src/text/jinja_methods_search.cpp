// Methods of str that look for something or tell what kind of text it is.
#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_methods.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

// The part of a text that start and stop (in characters) leave, and how many characters precede.
struct Window {
  std::string_view text;
  std::int64_t skipped = 0;
  bool possible = true;  // false: start lies behind the end, so that not even "" is found
};

Window window(Runtime& runtime, const Value& self, const Bound& bound) {
  runtime.heap.work(self.text().size());
  const std::string_view bytes = self.bytes();
  const bool given =
      (bound.given(1) && !bound[1]->is_none()) || (bound.given(2) && !bound[2]->is_none());
  if (!given) return {bytes, 0, true};
  runtime.heap.work(self.text().size() * 8);
  const auto offsets = character_offsets(bytes);
  const auto size = static_cast<std::int64_t>(offsets.size()) - 1;
  const auto place = [&](std::size_t i, std::int64_t otherwise) {
    if (!bound.given(i) || bound[i]->is_none()) return otherwise;
    const std::int64_t at = to_index(*bound[i]);
    return at < 0 ? std::max<std::int64_t>(at < -size ? 0 : at + size, 0) : at;
  };
  const std::int64_t start = place(1, 0);
  const std::int64_t stop = std::min(place(2, size), size);
  if (start > size || start > stop) return {{}, start, false};
  const std::size_t begin = offsets[static_cast<std::size_t>(start)];
  return {bytes.substr(begin, offsets[static_cast<std::size_t>(stop)] - begin), start, true};
}

template <bool kLast>
std::int64_t search(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("find", args, {"sub", "start", "end"}, 1);
  const Text& needle = *bound.exact_text(0);
  const Window where = window(runtime, self, bound);
  if (!where.possible) return -1;
  const std::size_t hit =
      kLast ? where.text.rfind(needle.bytes()) : where.text.find(needle.bytes());
  if (hit == std::string_view::npos) return -1;
  return where.skipped + static_cast<std::int64_t>(character_count(where.text.substr(0, hit)));
}

template <bool kLast>
Value find(Runtime& runtime, const Value& self, const Args& args) {
  return Value(search<kLast>(runtime, self, args));
}

template <bool kLast>
Value index(Runtime& runtime, const Value& self, const Args& args) {
  const std::int64_t at = search<kLast>(runtime, self, args);
  if (at < 0) value_error("substring not found");
  return Value(at);
}

Value count(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("count", args, {"sub", "start", "end"}, 1);
  const Text& needle = *bound.exact_text(0);
  const Window where = window(runtime, self, bound);
  if (!where.possible) return Value(std::int64_t{0});
  if (needle.empty()) return Value(static_cast<std::int64_t>(character_count(where.text)) + 1);
  std::int64_t hits = 0;
  for (std::size_t at = where.text.find(needle.bytes()); at != std::string_view::npos;
       at = where.text.find(needle.bytes(), at + needle.size())) {
    ++hits;
  }
  return Value(hits);
}

template <bool kStart>
Value has_affix(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("startswith", args, {"prefix", "start", "end"}, 1);
  const Window where = window(runtime, self, bound);
  const auto fits = [&](const Value& affix) {
    if (affix.is_undefined()) missing_fault(affix);
    if (!affix.is_text()) {
      type_error(fmt::format("{} first arg must be str or a tuple of str, not {}",
                             kStart ? "startswith" : "endswith", type_name(affix)));
    }
    return where.possible &&
           (kStart ? where.text.starts_with(affix.bytes()) : where.text.ends_with(affix.bytes()));
  };
  if (bound[0]->is_list() && bound[0]->list()->kind == ListKind::tuple) {
    const auto& affixes = bound[0]->list()->items;
    return Value(std::any_of(affixes.begin(), affixes.end(), fits));
  }
  return Value(fits(*bound[0]));
}

// True when there is a character and all of them are of this kind.
template <bool (*kIs)(std::uint32_t), bool kEmpty = false>
Value all_characters(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("str method", args, {});
  runtime.heap.work(self.text().size());
  const std::string& text = self.bytes();
  if (text.empty()) return Value(kEmpty);
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    if (!kIs(code_point(text, at))) return Value(false);
  }
  return Value(true);
}

bool is_alphanumeric(std::uint32_t code) { return is_letter(code) || is_numeric(code); }
bool is_ascii(std::uint32_t code) { return code < 0x80; }

template <bool kUpper>
Value has_case(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("isupper", args, {});
  runtime.heap.work(self.text().size());
  return Value(is_all_of_case(self.bytes(), kUpper));
}

Value is_title(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("istitle", args, {});
  runtime.heap.work(self.text().size());
  const std::string& text = self.bytes();
  bool found = false;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    const std::uint32_t code = code_point(text, at);
    const bool up = is_cased_upper(code);
    const bool low = is_cased_lower(code);
    if ((up && inside) || (low && !inside)) return Value(false);
    inside = up || low;
    found = found || inside;
  }
  return Value(found);
}

Value is_identifier(Runtime& runtime, const Value& self, const Args& args) {
  const Bound bound("isidentifier", args, {});
  runtime.heap.work(self.text().size());
  const std::string& text = self.bytes();
  for (std::size_t at = 0; at < text.size(); at += character_size(text, at)) {
    const std::uint32_t code = code_point(text, at);
    if (!is_word(code) || (at == 0 && is_numeric(code))) return Value(false);
  }
  return Value(!text.empty());
}

constexpr Method kSearch[] = {
    {"find", find<false>},          {"rfind", find<true>}, {"index", index<false>},
    {"rindex", index<true>},        {"count", count},      {"startswith", has_affix<true>},
    {"endswith", has_affix<false>},
};

constexpr Method kClasses[] = {
    {"isalpha", all_characters<is_letter>},
    {"isdigit", all_characters<is_digit>},
    {"isdecimal", all_characters<is_decimal>},
    {"isnumeric", all_characters<is_numeric>},
    {"isalnum", all_characters<is_alphanumeric>},
    {"isspace", all_characters<is_space>},
    {"isascii", all_characters<is_ascii, true>},
    {"isprintable", all_characters<is_printable, true>},
    {"isupper", has_case<true>},
    {"islower", has_case<false>},
    {"istitle", is_title},
    {"isidentifier", is_identifier},
};

}  // namespace

std::span<const Method> text_search_methods() { return kSearch; }
std::span<const Method> text_class_methods() { return kClasses; }

}  // namespace linnet::jinja
