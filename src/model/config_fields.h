// Typed reading of the fields of a config object; every error names the file and the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "model/config.h"

namespace linnet {

class ConfigFields {
 public:
  ConfigFields(const Json& object, std::string name) : object_(object), name_(std::move(name)) {}

  // nullptr when the field is absent or null.
  const Json* find(std::string_view key) const;
  // Error{invalid_argument} when it is absent.
  const Json& require(std::string_view key) const;
  const Json& object() const { return object_; }
  std::string label(std::string_view key) const;  // "config.json: vocab_size"

  std::int64_t size(std::string_view key, std::int64_t most) const;
  std::int64_t size_or(std::string_view key, std::int64_t most, std::int64_t fallback) const;
  double positive(std::string_view key) const;  // and up to 1e18
  double positive_or(std::string_view key, double fallback) const;
  double number_or(std::string_view key, double fallback) const;  // of a size up to 1e18
  float fraction(std::string_view key, float fallback) const;     // from 0 to below 1
  bool flag(std::string_view key, bool fallback) const;
  std::string text(std::string_view key, std::string fallback) const;

 private:
  const Json& object_;
  std::string name_;
};

// Architecture, model type, head and labels.
void read_task_head(const ConfigFields& fields, std::optional<TaskHead> chosen,
                    ModelConfig& config);

// The rotation, in either spelling, with the parameters of its type checked. Needs the sizes.
void read_rope(const ConfigFields& fields, ModelConfig& config);

// Refuses keys that ask for another computation, lists the others that nothing reads.
void read_unknown_keys(const ConfigFields& fields, ModelConfig& config);

}  // namespace linnet
