#include "text/json_fields.h"

#include <fmt/core.h>

#include "base/utf8.h"

namespace linnet {

std::string shown_in_message(std::string_view text) {
  constexpr std::size_t kShown = 120;
  if (text.size() <= kShown) return repair_utf8(text);
  return repair_utf8(text.substr(0, kShown)) + "...";
}

std::optional<JsonField> JsonField::find(std::string_view key) const {
  if (!value_->is_object()) wrong_type("an object");
  const Json* value = value_->find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  const std::string shown = shown_in_message(key);
  return JsonField(*value, *file_, path_.empty() ? shown : path_ + "." + shown);
}

JsonField JsonField::at(std::string_view key) const {
  if (auto field = find(key)) return *field;
  refuse(ErrorCode::corrupt_file, fmt::format("lacks the field '{}'", key));
}

std::vector<JsonField> JsonField::elements() const {
  if (!value_->is_array()) wrong_type("an array");
  std::vector<JsonField> out;
  for (const Json& element : value_->as_array()) {
    out.emplace_back(element, *file_, fmt::format("{}[{}]", path_, out.size()));
  }
  return out;
}

std::string_view JsonField::text() const {
  if (!value_->is_string()) wrong_type("a string");
  return value_->as_string();
}

std::int64_t JsonField::integer(std::int64_t low, std::int64_t high) const {
  if (!value_->is_int()) wrong_type("an integer");
  const std::int64_t number = value_->as_int();
  if (number < low || number > high) {
    refuse(ErrorCode::corrupt_file, fmt::format("is {}, expected {} to {}", number, low, high));
  }
  return number;
}

bool JsonField::boolean() const {
  if (!value_->is_bool()) wrong_type("a boolean");
  return value_->as_bool();
}

bool JsonField::flag(std::string_view key, bool otherwise) const {
  const auto field = find(key);
  return field ? field->boolean() : otherwise;
}

std::string_view JsonField::text_or(std::string_view key, std::string_view otherwise) const {
  const auto field = find(key);
  return field ? field->text() : otherwise;
}

void JsonField::refuse(ErrorCode code, const std::string& why) const {
  fail(code, fmt::format("{}: {} {}", *file_, path_.empty() ? "the file" : path_, why));
}

void JsonField::wrong_type(std::string_view expected) const {
  refuse(ErrorCode::corrupt_file, fmt::format("is {}, expected {}", value_->type_name(), expected));
}

}  // namespace linnet
