// Typed access to a parsed file of known layout; every error names the file and the field's path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace linnet {

// A value with its path. The value and the file's name must outlive it.
class JsonField {
 public:
  JsonField(const Json& value, const std::string& file, std::string path)
      : value_(&value), file_(&file), path_(std::move(path)) {}

  // Member `key`; nothing when it is absent or null.
  std::optional<JsonField> find(std::string_view key) const;
  JsonField at(std::string_view key) const;
  // The elements of an array.
  std::vector<JsonField> elements() const;

  std::string_view text() const;
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  bool boolean() const;
  // Members with a default.
  bool flag(std::string_view key, bool otherwise) const;
  std::string_view text_or(std::string_view key, std::string_view otherwise) const;

  // "file: path why".
  [[noreturn]] void refuse(ErrorCode code, const std::string& why) const;

 private:
  [[noreturn]] void wrong_type(std::string_view expected) const;
  const Json* value_;
  const std::string* file_;
  std::string path_;
};

// At most 120 bytes of text from a file, cut at a character, for messages.
std::string shown_in_message(std::string_view text);

}  // namespace linnet
