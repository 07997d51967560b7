#include <fmt/core.h>

#include "base/error.h"
#include "model/config_fields.h"

namespace linnet {
namespace {

// longrope: one factor per pair of a head's dimensions.
void check_factor_list(const ConfigFields& fields, std::string_view key, std::int64_t head_dim) {
  const Json::Array& factors = fields.require(key).as_array(fields.label(key));
  if (static_cast<std::int64_t>(factors.size()) != head_dim / 2) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} has {} entries, a head of {} needs {}", fields.label(key), factors.size(),
                     head_dim, head_dim / 2));
  }
  for (const Json& factor : factors) {
    if (!(factor.as_double(fields.label(key)) > 0)) {
      fail(ErrorCode::invalid_argument, fields.label(key) + ": a factor is not positive");
    }
  }
}

void check_parameters(const ConfigFields& fields, const std::string& type, std::int64_t head_dim) {
  if (type == "default") return;
  if (type == "linear" || type == "dynamic") {
    fields.positive("factor");
  } else if (type == "yarn") {
    // Without a factor it is the ratio of the lengths.
    if (fields.find("factor") != nullptr) fields.positive("factor");
  } else if (type == "llama3") {
    for (const std::string_view key :
         {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
      fields.positive(key);
    }
  } else if (type == "longrope") {
    check_factor_list(fields, "short_factor", head_dim);
    check_factor_list(fields, "long_factor", head_dim);
  } else {
    fail(
        ErrorCode::unsupported,
        fmt::format("{}: \"{}\" is not known; known are default, linear, dynamic, yarn, llama3 and "
                    "longrope",
                    fields.label("rope_type"), type));
  }
}

}  // namespace

RopeConfig read_rope(const ConfigFields& fields, std::int64_t head_dim) {
  RopeConfig rope;
  // The two spellings: rope_theta beside rope_scaling, or one object rope_parameters.
  const std::string key = fields.find("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const Json* object = fields.find(key);
  if (object != nullptr) {
    object->as_object(fields.label(key));
    rope.parameters = *object;
    const ConfigFields inner(rope.parameters, fields.label(key));
    rope.type = inner.text("rope_type", inner.text("type", "default"));
    check_parameters(inner, rope.type, head_dim);
    if (inner.find("rope_theta") != nullptr) {
      rope.theta = inner.positive("rope_theta");
      return rope;
    }
  }
  if (fields.find("rope_theta") == nullptr) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} is missing (nor is it in rope_parameters); Linnet does not guess it",
                     fields.label("rope_theta")));
  }
  rope.theta = fields.positive("rope_theta");
  return rope;
}

}  // namespace linnet
