#include "base/json.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/error.h"

namespace linnet {
namespace {

[[noreturn]] void wrong_type(std::string_view name, std::string_view wanted, const Json& got) {
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: expected {}, found {}", name, wanted, got.type_name()));
}

}  // namespace

Json::Json(unsigned long value) {
  if (value <= static_cast<unsigned long>(std::numeric_limits<std::int64_t>::max())) {
    value_ = static_cast<std::int64_t>(value);
  } else {
    value_ = LargeInteger{std::to_string(value)};
  }
}

Json Json::parse(std::string_view text, const std::string& name) {
  return parse(text, name, ParseOptions{});
}

std::string_view Json::type_name() const {
  static constexpr std::string_view kNames[] = {"null",      "a boolean", "an integer",
                                                "a number",  "a string",  "an array",
                                                "an object", "an integer"};
  return kNames[value_.index()];
}

bool Json::as_bool(std::string_view name) const {
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  wrong_type(name, "a boolean", *this);
}

std::int64_t Json::as_int(std::string_view name) const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<double>(&value_)) {
    if (std::trunc(*value) == *value && std::fabs(*value) < 9007199254740992.0) {
      return static_cast<std::int64_t>(*value);
    }
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: expected an integer, found {}", name, *value));
  }
  if (is_large_int()) {
    fail(ErrorCode::invalid_argument, fmt::format("{}: {} does not fit into 64 bits", name,
                                                  std::get<LargeInteger>(value_).digits));
  }
  wrong_type(name, "an integer", *this);
}

const std::string& Json::large_digits() const {
  LINNET_CHECK(is_large_int());
  return std::get<LargeInteger>(value_).digits;
}

std::int64_t Json::as_int_in(std::int64_t low, std::int64_t high, std::string_view name) const {
  const std::int64_t value = as_int(name);
  if (value < low || value > high) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: {} is outside of {} to {}", name, value, low, high));
  }
  return value;
}

double Json::as_double(std::string_view name) const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (is_large_int()) return std::strtod(large_digits().c_str(), nullptr);
  wrong_type(name, "a number", *this);
}

const std::string& Json::as_string(std::string_view name) const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  wrong_type(name, "a string", *this);
}

const Json::Array& Json::as_array(std::string_view name) const {
  if (const auto* value = std::get_if<Array>(&value_)) return *value;
  wrong_type(name, "an array", *this);
}

const Json::Object& Json::as_object(std::string_view name) const {
  if (const auto* value = std::get_if<Object>(&value_)) return *value;
  wrong_type(name, "an object", *this);
}

Json::Array& Json::as_array(std::string_view name) {
  return const_cast<Array&>(std::as_const(*this).as_array(name));
}

Json::Object& Json::as_object(std::string_view name) {
  return const_cast<Object&>(std::as_const(*this).as_object(name));
}

const Json* Json::find(std::string_view key) const {
  const auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) return nullptr;
  for (const Member& member : *members) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Json* Json::find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }

const Json& Json::at(std::string_view key) const {
  if (const Json* member = find(key)) return *member;
  fail(ErrorCode::invalid_argument, fmt::format("field \"{}\" is missing", key));
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = Object{};
  if (Json* member = find(key)) {
    *member = std::move(value);
  } else {
    as_object(key).emplace_back(std::string(key), std::move(value));
  }
  return *this;
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array{};
  as_array().push_back(std::move(value));
}

std::size_t Json::size() const {
  if (const auto* items = std::get_if<Array>(&value_)) return items->size();
  if (const auto* members = std::get_if<Object>(&value_)) return members->size();
  return 0;
}

}  // namespace linnet
