#include "text/python_literal.h"

#include <algorithm>
#include <unordered_map>

#include "text/python_identifier.h"

namespace linnet {
namespace {

constexpr int kMaxDepth = 200;       // Python's own limit
constexpr std::size_t kTabStop = 8;  // as Python counts indentation

}  // namespace

bool PythonReader::take(char c) {
  if (at_end() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void PythonReader::skip_comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

void PythonReader::skip_space() {
  while (!at_end()) {
    const char c = text_[at_];
    if (c == '\\' && text_.substr(at_ + 1).starts_with('\n')) {
      at_ += 2;
    } else if (c == ' ' || c == '\t' || c == '\f' || (c == '\n' && depth_ > 0)) {
      ++at_;
    } else if (c == '#' && depth_ > 0) {
      skip_comment();
    } else {
      return;
    }
  }
}

std::size_t PythonReader::skip_to_statement() {
  std::size_t column = 0;
  for (; !at_end(); ++at_) {
    const char c = text_[at_];
    if (c == '#') {
      skip_comment();
      if (at_end()) break;
      column = 0;
    } else if (c == ' ') {
      ++column;
    } else if (c == '\t') {
      column = (column / kTabStop + 1) * kTabStop;
    } else if (c == '\n' || c == '\f') {
      column = 0;
    } else {
      break;
    }
  }
  return column;
}

std::optional<std::string> PythonReader::name() {
  auto name = read_python_identifier(text_, at_);
  if (name && is_python_keyword(*name)) return std::nullopt;
  return name;
}

bool PythonReader::open(char bracket) {
  if (!take(bracket) || depth_ == kMaxDepth) return false;
  ++depth_;
  skip_space();
  return true;
}

bool PythonReader::close(char bracket) {
  if (!take(bracket)) return false;
  --depth_;
  return true;
}

std::optional<Json> PythonReader::literal() {
  plain_number_ = false;
  if (begins_python_string(text_, at_)) return text();
  const char c = peek();
  if (c == '-') return negative();
  if (c == '[') return list();
  if (c == '(') return tuple();
  if (c == '{') return dict();
  if (c == '.' || (c >= '0' && c <= '9')) {
    plain_number_ = true;
    return read_python_number(text_, at_);
  }
  return word();
}

std::optional<Json> PythonReader::negative() {
  take('-');
  skip_space();
  // The operand may nest only by its own brackets.
  if (peek() == '-') return std::nullopt;
  const auto number = literal();
  if (!number || !plain_number_) return std::nullopt;
  plain_number_ = false;
  if (number->is_int()) return Json(-number->as_int());
  if (number->is_double()) return Json(-number->as_double());
  return Json(LargeInteger{"-" + number->large_digits()});
}

std::optional<Json> PythonReader::word() {
  const auto word = read_python_identifier(text_, at_);
  if (word == "True") return Json(true);
  if (word == "False") return Json(false);
  if (word == "None") return Json();
  return std::nullopt;
}

// Adjacent strings are one.
std::optional<Json> PythonReader::text() {
  std::string joined;
  while (begins_python_string(text_, at_)) {
    const auto part = read_python_string(text_, at_);
    if (!part) return std::nullopt;
    joined += *part;
    skip_space();
  }
  return Json(std::move(joined));
}

bool PythonReader::element(Json::Array& elements) {
  auto value = literal();
  if (!value) return false;
  elements.push_back(std::move(*value));
  skip_space();
  return true;
}

std::optional<Json> PythonReader::list() {
  if (!open('[')) return std::nullopt;
  Json::Array elements;
  while (!close(']')) {
    if (!element(elements)) return std::nullopt;
    if (take(',')) {
      skip_space();
    } else if (peek() != ']') {
      return std::nullopt;
    }
  }
  plain_number_ = false;
  return Json(std::move(elements));
}

// Or a literal in parentheses.
std::optional<Json> PythonReader::tuple() {
  if (!open('(')) return std::nullopt;
  Json::Array elements;
  bool comma = false;
  while (!close(')')) {
    if (!element(elements)) return std::nullopt;
    if (take(',')) {
      comma = true;
      skip_space();
    } else if (peek() != ')') {
      return std::nullopt;
    }
  }
  if (elements.size() == 1 && !comma) return std::move(elements.front());
  plain_number_ = false;
  return Json(std::move(elements));
}

std::optional<Json> PythonReader::dict() {
  if (!open('{')) return std::nullopt;
  Json::Object members;
  std::unordered_map<std::string, std::size_t> places;
  while (!close('}')) {
    auto key = literal();
    skip_space();
    if (!key || !key->is_string() || !take(':')) return std::nullopt;
    skip_space();
    auto value = literal();
    if (!value) return std::nullopt;
    const auto [place, added] = places.emplace(key->as_string(), members.size());
    if (added) members.emplace_back(place->first, Json());
    members[place->second].second = std::move(*value);
    skip_space();
    if (take(',')) {
      skip_space();
    } else if (peek() != '}') {
      return std::nullopt;
    }
  }
  plain_number_ = false;
  return Json(std::move(members));
}

}  // namespace linnet
