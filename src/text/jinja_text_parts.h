// Cutting and joining texts as Python's str methods do; the filters share them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/jinja_runtime.h"

namespace linnet::jinja {

struct Sides {
  bool left = true;
  bool right = true;
};
// Without white space, or without any of the characters of `set`, at the ends.
Text strip(const Text& text, const Text* set, Sides sides);
// Around each `separator` (null: around white space), at most `limit` cuts when that is not
// negative, counted from the right end if `from_right`. The separator is not empty.
std::vector<Text> split(Heap& heap, const Text& text, const Text* separator, std::int64_t limit,
                        bool from_right);
std::vector<Text> split_lines(Heap& heap, const Text& text, bool keep_ends);
// As replace, after a look at how large the result will be.
Text replace_checked(Heap& heap, const Text& text, const Text& from, const Text& to,
                     std::int64_t limit);
Text join(Heap& heap, const Text& separator, const std::vector<Value>& parts);
// Each text as a value, in a list.
Value text_list(Heap& heap, const std::vector<Text>& texts, ListKind kind = ListKind::list);
// To `width` characters with fill around it.
Text centered(Heap& heap, const Text& text, std::int64_t width, const Text& fill);

}  // namespace linnet::jinja
