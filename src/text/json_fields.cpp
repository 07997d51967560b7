#include "text/json_fields.h"

#include <fmt/core.h>

#include "text/utf8.h"

namespace linnet {
namespace {

std::string_view type_name(simdjson::dom::element value) {
  using simdjson::dom::element_type;
  switch (value.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
    case element_type::UINT64:
      return "an integer";
    case element_type::DOUBLE:
      return "a number";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a boolean";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "something else";
}

}  // namespace

std::string shown_in_message(std::string_view text) {
  constexpr std::size_t kShown = 120;
  if (text.size() <= kShown) return std::string(text);
  return repair_utf8(text.substr(0, kShown)) + "...";
}

std::optional<JsonField> JsonField::find(std::string_view key) const {
  simdjson::dom::element value;
  if (object().at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return member(value, key);
}

JsonField JsonField::at(std::string_view key) const {
  if (auto field = find(key)) return *field;
  refuse(ErrorCode::corrupt_file, fmt::format("lacks the field '{}'", key));
}

simdjson::dom::object JsonField::object() const {
  simdjson::dom::object object;
  if (value_.get(object) != simdjson::SUCCESS) wrong_type("an object");
  return object;
}

simdjson::dom::array JsonField::array() const {
  simdjson::dom::array array;
  if (value_.get(array) != simdjson::SUCCESS) wrong_type("an array");
  return array;
}

std::string_view JsonField::text() const {
  std::string_view text;
  if (value_.get(text) != simdjson::SUCCESS) wrong_type("a string");
  return text;
}

std::int64_t JsonField::integer(std::int64_t low, std::int64_t high) const {
  std::int64_t number = 0;
  const auto error = value_.get(number);
  if (error == simdjson::INCORRECT_TYPE) wrong_type("an integer");
  if (error != simdjson::SUCCESS || number < low || number > high) {
    refuse(ErrorCode::corrupt_file, fmt::format("is {}, expected {} to {}",
                                                error != simdjson::SUCCESS ? "a number over 64 bits"
                                                                           : std::to_string(number),
                                                low, high));
  }
  return number;
}

bool JsonField::boolean() const {
  bool value = false;
  if (value_.get(value) != simdjson::SUCCESS) wrong_type("a boolean");
  return value;
}

bool JsonField::flag(std::string_view key, bool otherwise) const {
  const auto field = find(key);
  return field ? field->boolean() : otherwise;
}

std::string_view JsonField::text_or(std::string_view key, std::string_view otherwise) const {
  const auto field = find(key);
  return field ? field->text() : otherwise;
}

JsonField JsonField::element(simdjson::dom::element value, std::size_t index) const {
  return {value, *file_, fmt::format("{}[{}]", path_, index)};
}

JsonField JsonField::member(simdjson::dom::element value, std::string_view key) const {
  const std::string shown = shown_in_message(key);
  return {value, *file_, path_.empty() ? shown : path_ + "." + shown};
}

void JsonField::refuse(ErrorCode code, const std::string& why) const {
  fail(code, fmt::format("{}: {} {}", *file_, path_.empty() ? "the file" : path_, why));
}

void JsonField::wrong_type(std::string_view expected) const {
  refuse(ErrorCode::corrupt_file, fmt::format("is {}, expected {}", type_name(value_), expected));
}

}  // namespace linnet
