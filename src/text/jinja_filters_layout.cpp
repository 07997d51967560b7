// Filters that lay text out: indentation, cutting, wrapping, centring.
#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_filters.h"
#include "text/jinja_text_parts.h"
#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

Value indent(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("indent", args, {"width", "first", "blank"});
  Heap& heap = runtime.heap;
  Text margin(std::string(4, ' '));
  if (bound.given(0)) {
    if (bound[0]->is_text()) {
      margin = bound[0]->text();
    } else {
      const std::int64_t width = std::max<std::int64_t>(bound.integer(0, 4), 0);
      heap.reserve(static_cast<std::size_t>(width));
      margin = Text(std::string(static_cast<std::size_t>(width), ' '));
    }
  }
  if (input.is_undefined()) missing_fault(input);
  if (!input.is_text()) {
    type_error(fmt::format("unsupported operand type(s) for +=: '{}' and 'str'", type_name(input)));
  }
  Text text = input.text();
  heap.work(text.size() * 4);
  text.append("\n");  // so that a last line counts when it is empty
  const std::vector<Text> lines = split_lines(heap, text, false);
  Text out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i != 0) out.append("\n");
    const bool blank = lines[i].empty() && !bound.flag(2, false) && i != 0;
    if ((i != 0 || bound.flag(1, false)) && !blank) out.append(margin);
    out.append(lines[i]);
    heap.reserve(out.size());
  }
  return heap.text(std::move(out));
}

Text first_characters(const Text& text, std::int64_t count) {
  std::size_t end = 0;
  for (std::int64_t i = 0; i < count && end < text.size(); ++i)
    end += character_size(text.bytes(), end);
  return text.slice(0, end);
}

Value truncate(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("truncate", args, {"length", "killwords", "end", "leeway"});
  const std::int64_t length = bound.integer(0, 255);
  const Text end = bound.text(runtime, 2, "...");
  const std::int64_t leeway = bound.given(3) && !bound[3]->is_none() ? bound.integer(3, 5) : 5;
  const auto end_size = static_cast<std::int64_t>(character_count(end.bytes()));
  if (length < end_size) value_error("truncate: expected length >= the length of end");
  if (leeway < 0) value_error("truncate: expected leeway >= 0");
  const auto count = jinja::length(input);
  if (!count) type_error(fmt::format("object of type '{}' has no len()", type_name(input)));
  if (*count <= length + std::min<std::int64_t>(leeway, 1 << 30)) return input;
  if (!input.is_text()) type_error(fmt::format("'{}' object cannot be cut", type_name(input)));
  const Text& text = input.text();
  runtime.heap.work(text.size());
  Text out = first_characters(text, length - end_size);
  if (!bound.flag(1, false)) {
    const std::size_t blank = out.bytes().rfind(' ');
    if (blank != std::string::npos) out = out.slice(0, blank);
  }
  out.append(end);
  return runtime.heap.text(std::move(out));
}

Value center_filter(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("center", args, {"width"});
  return runtime.heap.text(
      centered(runtime.heap, to_text(runtime.heap, input), bound.integer(0, 80), Text(" ")));
}

// One paragraph in lines of at most `width` characters; white space between words is kept within
// a line and dropped where a line ends.
std::vector<Text> wrap(Heap& heap, const Text& paragraph, std::int64_t width, bool break_words) {
  std::vector<Text> lines;
  Text line;
  std::int64_t used = 0;
  const std::string& bytes = paragraph.bytes();
  const auto finish = [&] {
    const Text done = strip(line, nullptr, {.left = false, .right = true});
    if (!done.empty()) lines.push_back(done);
    line = Text();
    used = 0;
  };
  for (std::size_t at = 0; at < bytes.size();) {
    heap.step();
    const bool space = is_space(code_point(bytes, at));
    std::size_t end = at;
    std::int64_t count = 0;
    while (end < bytes.size() && is_space(code_point(bytes, end)) == space) {
      const bool hyphen = bytes[end] == '-' && end > at;
      end += character_size(bytes, end);
      ++count;
      if ((break_words && !space && count == width) || hyphen) break;
    }
    if (used + count > width && used > 0) finish();
    if (!(space && used == 0 && !lines.empty())) {
      line.append(paragraph, at, end);
      used += count;
    }
    at = end;
  }
  finish();
  return lines;
}

Value word_wrap(Runtime& runtime, const Value& input, const Args& args) {
  const Bound bound("wordwrap", args,
                    {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  const std::int64_t width = bound.integer(0, 79);
  if (width <= 0) value_error("wordwrap: expected a width above 0");
  const Text separator =
      bound.given(2) && !bound[2]->is_none() ? bound.text(runtime, 2, "") : Text("\n");
  if (input.is_undefined()) missing_fault(input);
  if (!input.is_text()) {
    type_error(fmt::format("'{}' object has no attribute 'splitlines'", type_name(input)));
  }
  Heap& heap = runtime.heap;
  Text out;
  bool first = true;
  for (const Text& paragraph : split_lines(heap, input.text(), false)) {
    std::vector<Text> lines = wrap(heap, paragraph, width, bound.flag(1, true));
    if (lines.empty()) lines.emplace_back();
    for (const Text& line : lines) {
      if (!first) out.append(separator);
      first = false;
      out.append(line);
      heap.reserve(out.size());
    }
  }
  return heap.text(std::move(out));
}

constexpr Filter kFilters[] = {
    {"indent", indent}, {"truncate", truncate}, {"center", center_filter}, {"wordwrap", word_wrap}};

}  // namespace

std::span<const Filter> layout_filters() { return kFilters; }

}  // namespace linnet::jinja
