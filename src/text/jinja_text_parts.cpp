#include "text/jinja_text_parts.h"

#include <algorithm>

#include "text/jinja_unicode.h"

namespace linnet::jinja {
namespace {

bool is_in(const Text* set, std::string_view character) {
  if (set == nullptr) return is_space(code_point(character, 0));
  return set->bytes().find(character) != std::string::npos;
}

std::size_t last_character(std::string_view text, std::size_t end) {
  std::size_t start = end - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80 && end - start < 4)
    --start;
  return start;
}

// What a part costs once it is a value of its own; checked before there are many.
constexpr std::size_t kPartBytes = sizeof(Text) + sizeof(Value) + 64;

// Cuts found from the left: [begin, end) of each separator.
std::vector<Span> separators(Heap& heap, std::string_view text, std::string_view separator) {
  std::vector<Span> cuts;
  for (std::size_t at = text.find(separator); at != std::string_view::npos;
       at = text.find(separator, at + separator.size())) {
    cuts.push_back({at, at + separator.size()});
    heap.reserve(cuts.size() * kPartBytes);
  }
  return cuts;
}

std::vector<Span> separators_from_right(Heap& heap, std::string_view text,
                                        std::string_view separator, std::int64_t limit) {
  std::vector<Span> cuts;
  std::size_t end = text.size();
  while (end >= separator.size() && (limit < 0 || static_cast<std::int64_t>(cuts.size()) < limit)) {
    const std::size_t at = text.rfind(separator, end - separator.size());
    if (at == std::string_view::npos) break;
    cuts.push_back({at, at + separator.size()});
    heap.reserve(cuts.size() * kPartBytes);
    end = at;
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

// Words between white space; with a limit the rest stays whole on the far side.
std::vector<Span> words(Heap& heap, std::string_view text) {
  std::vector<Span> found;
  std::size_t at = leading_space(text);
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && !is_space(code_point(text, end))) end += character_size(text, end);
    found.push_back({at, end});
    heap.reserve(found.size() * kPartBytes);
    at = end + leading_space(text.substr(end));
  }
  return found;
}

std::vector<Text> split_words(Heap& heap, const Text& text, std::int64_t limit, bool from_right) {
  std::vector<Span> found = words(heap, text.bytes());
  const auto keep = static_cast<std::size_t>(std::max<std::int64_t>(limit, 0)) + 1;
  if (limit >= 0 && found.size() > keep) {
    if (from_right) {
      const Span rest{0, found[found.size() - keep].end};
      found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(keep));
      found.front() = rest;
    } else {
      found[keep - 1].end = text.size();
      found.resize(keep);
    }
  }
  std::vector<Text> parts;
  for (const Span& word : found) parts.push_back(text.slice(word.begin, word.end));
  return parts;
}

}  // namespace

Text strip(const Text& text, const Text* set, Sides sides) {
  const std::string_view bytes = text.bytes();
  std::size_t begin = 0;
  std::size_t end = bytes.size();
  while (sides.left && begin < end &&
         is_in(set, bytes.substr(begin, character_size(bytes, begin)))) {
    begin += character_size(bytes, begin);
  }
  while (sides.right && end > begin) {
    const std::size_t start = last_character(bytes, end);
    if (!is_in(set, bytes.substr(start, end - start))) break;
    end = start;
  }
  return text.slice(begin, std::max(begin, end));
}

std::vector<Text> split(Heap& heap, const Text& text, const Text* separator, std::int64_t limit,
                        bool from_right) {
  if (separator == nullptr) return split_words(heap, text, limit, from_right);
  std::vector<Span> cuts =
      from_right ? separators_from_right(heap, text.bytes(), separator->bytes(), limit)
                 : separators(heap, text.bytes(), separator->bytes());
  if (!from_right && limit >= 0 && cuts.size() > static_cast<std::size_t>(limit)) {
    cuts.resize(static_cast<std::size_t>(limit));
  }
  std::vector<Text> parts;
  std::size_t at = 0;
  for (const Span& cut : cuts) {
    parts.push_back(text.slice(at, cut.begin));
    at = cut.end;
  }
  parts.push_back(text.slice(at, text.size()));
  return parts;
}

std::vector<Text> split_lines(Heap& heap, const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string& bytes = text.bytes();
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t next = at + character_size(bytes, at);
    if (!is_line_break(code_point(bytes, at))) {
      at = next;
      continue;
    }
    const bool pair = bytes[at] == '\r' && next < bytes.size() && bytes[next] == '\n';
    const std::size_t after = pair ? next + 1 : next;
    lines.push_back(text.slice(begin, keep_ends ? after : at));
    begin = at = after;
    heap.reserve(lines.size() * kPartBytes);
  }
  if (begin < bytes.size()) lines.push_back(text.slice(begin, bytes.size()));
  return lines;
}

Text replace_checked(Heap& heap, const Text& text, const Text& from, const Text& to,
                     std::int64_t limit) {
  heap.work(text.size() * 2);
  if (to.size() > from.size()) {
    std::size_t hits = from.empty() ? text.size() + 1 : 0;
    for (std::size_t at = from.empty() ? std::string::npos : text.bytes().find(from.bytes());
         at != std::string::npos; at = text.bytes().find(from.bytes(), at + from.size())) {
      ++hits;
    }
    if (limit >= 0) hits = std::min(hits, static_cast<std::size_t>(limit));
    const std::size_t most = heap.limits().value_bytes;
    heap.reserve(to.size() > most / (hits + 1) ? most + 1 : text.size() + hits * to.size());
  }
  return replace(text, from, to, limit);
}

Text join(Heap& heap, const Text& separator, const std::vector<Value>& parts) {
  Text out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out.append(separator);
    out.append(to_text(heap, parts[i]));
    heap.reserve(out.size());
  }
  return out;
}

Value text_list(Heap& heap, const std::vector<Text>& texts, ListKind kind) {
  std::vector<Value> items;
  items.reserve(texts.size());
  for (const Text& text : texts) items.push_back(heap.text(text));
  return heap.list(std::move(items), kind);
}

Text centered(Heap& heap, const Text& text, std::int64_t width, const Text& fill) {
  const auto size = static_cast<std::int64_t>(character_count(text.bytes()));
  const std::int64_t missing = width - size;
  if (missing <= 0) return text;
  heap.reserve(static_cast<std::size_t>(missing) * std::max<std::size_t>(fill.size(), 1) +
               text.size());
  // Python puts the odd one to the left only when the width is odd.
  const std::int64_t left = missing / 2 + (missing & width & 1);
  Text out;
  for (std::int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (std::int64_t i = left; i < missing; ++i) out.append(fill);
  return out;
}

}  // namespace linnet::jinja
