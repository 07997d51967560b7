// A string that knows which of its bytes came from the context's data. Every operation keeps that
// knowledge; where it cannot be exact, it marks too much rather than too little.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja.h"

namespace linnet::jinja {

class Text {
 public:
  Text() = default;
  // The template's own words.
  explicit Text(std::string bytes) : bytes_(std::move(bytes)) {}
  static Text from_input(std::string bytes);
  // `bytes` made out of `origin` in a way that keeps no positions: all input if any of it was.
  static Text like(const Text& origin, std::string bytes);
  // `bytes` made out of `origin` character by character; exact where both are ASCII.
  static Text mapped(const Text& origin, std::string bytes);

  const std::string& bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  const std::vector<Span>& input() const { return input_; }
  bool has_input() const { return !input_.empty(); }
  bool markup() const { return markup_; }
  void set_markup(bool markup) { markup_ = markup; }
  std::string take_bytes() { return std::move(bytes_); }

  void append(const Text& other);
  void append(std::string_view words) { bytes_.append(words); }
  // Bytes [begin, end) of `other`.
  void append(const Text& other, std::size_t begin, std::size_t end);
  Text slice(std::size_t begin, std::size_t end) const;

 private:
  void add_span(std::size_t begin, std::size_t end);

  std::string bytes_;
  std::vector<Span> input_;  // sorted, apart, not empty
  bool markup_ = false;      // already escaped for HTML (autoescape, safe)
};

// At most `limit` replacements (negative: all), as str.replace: an empty `from` matches between
// all characters.
Text replace(const Text& text, const Text& from, const Text& to, std::int64_t limit);

}  // namespace linnet::jinja
