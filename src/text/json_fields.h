// Typed access to a parsed tokenizer.json; every error names the file and the field's path.
// Private to the reader: it pulls in simdjson.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace linnet {

// A value with its path. Values stay valid as long as the parser.
class JsonField {
 public:
  JsonField(simdjson::dom::element value, const std::string& file, std::string path)
      : value_(value), file_(&file), path_(std::move(path)) {}

  // Member `key`; nothing when it is absent or null.
  std::optional<JsonField> find(std::string_view key) const;
  JsonField at(std::string_view key) const;

  simdjson::dom::object object() const;
  simdjson::dom::array array() const;
  std::string_view text() const;
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  bool boolean() const;
  // Members with a default.
  bool flag(std::string_view key, bool otherwise) const;
  std::string_view text_or(std::string_view key, std::string_view otherwise) const;

  JsonField element(simdjson::dom::element value, std::size_t index) const;
  JsonField member(simdjson::dom::element value, std::string_view key) const;

  // "file: path why".
  [[noreturn]] void refuse(ErrorCode code, const std::string& why) const;

 private:
  [[noreturn]] void wrong_type(std::string_view expected) const;
  simdjson::dom::element value_;
  const std::string* file_;
  std::string path_;
};

// At most 120 bytes of text from a file, cut at a character, for messages.
std::string shown_in_message(std::string_view text);

}  // namespace linnet
