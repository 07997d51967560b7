#include "model/config_fields.h"

#include <fmt/core.h>

#include "base/error.h"

namespace linnet {

const Json* ConfigFields::find(std::string_view key) const {
  const Json* value = object_.find(key);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

const Json& ConfigFields::require(std::string_view key) const {
  if (const Json* value = find(key)) return *value;
  fail(ErrorCode::invalid_argument, fmt::format("{}: field \"{}\" is missing", name_, key));
}

std::string ConfigFields::label(std::string_view key) const {
  return fmt::format("{}: {}", name_, key);
}

std::int64_t ConfigFields::size(std::string_view key, std::int64_t most) const {
  return require(key).as_int_in(1, most, label(key));
}

std::int64_t ConfigFields::size_or(std::string_view key, std::int64_t most,
                                   std::int64_t fallback) const {
  return find(key) != nullptr ? size(key, most) : fallback;
}

double ConfigFields::positive(std::string_view key) const {
  const double value = require(key).as_double(label(key));
  if (!(value > 0) || value > 1e18) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: {} is not a number above 0 and up to 1e18", label(key), value));
  }
  return value;
}

double ConfigFields::positive_or(std::string_view key, double fallback) const {
  return find(key) != nullptr ? positive(key) : fallback;
}

double ConfigFields::number_or(std::string_view key, double fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const double number = value->as_double(label(key));
  if (!(number >= -1e18 && number <= 1e18)) {
    fail(ErrorCode::invalid_argument, fmt::format("{}: {} is too large", label(key), number));
  }
  return number;
}

float ConfigFields::fraction(std::string_view key, float fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const auto number = static_cast<float>(value->as_double(label(key)));
  if (!(number >= 0.0f && number < 1.0f)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: {} is outside of 0 to 1", label(key), number));
  }
  return number;
}

bool ConfigFields::flag(std::string_view key, bool fallback) const {
  const Json* value = find(key);
  return value != nullptr ? value->as_bool(label(key)) : fallback;
}

std::string ConfigFields::text(std::string_view key, std::string fallback) const {
  const Json* value = find(key);
  return value != nullptr ? value->as_string(label(key)) : fallback;
}

}  // namespace linnet
