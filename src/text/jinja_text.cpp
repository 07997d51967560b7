#include "text/jinja_text.h"

#include <algorithm>

#include "text/jinja_unicode.h"

namespace linnet::jinja {

Text Text::from_input(std::string bytes) {
  Text text(std::move(bytes));
  text.add_span(0, text.size());
  return text;
}

Text Text::like(const Text& origin, std::string bytes) {
  return origin.has_input() ? from_input(std::move(bytes)) : Text(std::move(bytes));
}

Text Text::mapped(const Text& origin, std::string bytes) {
  const auto is_ascii = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<signed char>(c) >= 0; });
  };
  if (bytes.size() != origin.size() || !is_ascii(bytes) || !is_ascii(origin.bytes_)) {
    return like(origin, std::move(bytes));
  }
  Text text(std::move(bytes));
  text.input_ = origin.input_;
  return text;
}

void Text::add_span(std::size_t begin, std::size_t end) {
  if (begin == end) return;
  if (!input_.empty() && input_.back().end == begin) {
    input_.back().end = end;
  } else {
    input_.push_back({begin, end});
  }
}

void Text::append(const Text& other) { append(other, 0, other.size()); }

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
  const std::size_t base = bytes_.size();
  bytes_.append(other.bytes_, begin, end - begin);
  auto span = std::lower_bound(other.input_.begin(), other.input_.end(), begin,
                               [](const Span& s, std::size_t at) { return s.end <= at; });
  for (; span != other.input_.end() && span->begin < end; ++span) {
    add_span(base + std::max(span->begin, begin) - begin, base + std::min(span->end, end) - begin);
  }
}

Text Text::slice(std::size_t begin, std::size_t end) const {
  Text part;
  part.append(*this, begin, end);
  return part;
}

namespace {

Text replace_between_characters(const Text& text, const Text& to, std::int64_t limit) {
  Text result;
  std::size_t at = 0;
  for (std::int64_t done = 0; limit < 0 || done < limit; ++done) {
    result.append(to);
    if (at == text.size()) break;
    const std::size_t next = at + character_size(text.bytes(), at);
    result.append(text, at, next);
    at = next;
  }
  result.append(text, at, text.size());
  return result;
}

}  // namespace

Text replace(const Text& text, const Text& from, const Text& to, std::int64_t limit) {
  if (from.empty()) return replace_between_characters(text, to, limit);
  Text result;
  std::size_t at = 0;
  for (std::int64_t done = 0; limit < 0 || done < limit; ++done) {
    const std::size_t hit = text.bytes().find(from.bytes(), at);
    if (hit == std::string::npos) break;
    result.append(text, at, hit);
    result.append(to);
    at = hit + from.size();
  }
  result.append(text, at, text.size());
  return result;
}

}  // namespace linnet::jinja
