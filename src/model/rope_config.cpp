// Reading the rotation of a config: two spellings, six types.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/config_fields.h"
#include "model/rope.h"

namespace linnet {
namespace {

constexpr std::int64_t kMostPositions = std::int64_t{1} << 28;

constexpr std::string_view kTypes[] = {"default", "linear", "dynamic",
                                       "yarn",    "llama3", "longrope"};
// What a rotation's object may hold.
constexpr std::string_view kKeys[] = {"rope_type",
                                      "type",
                                      "rope_theta",
                                      "factor",
                                      "original_max_position_embeddings",
                                      "attention_factor",
                                      "beta_fast",
                                      "beta_slow",
                                      "mscale",
                                      "mscale_all_dim",
                                      "truncate",
                                      "low_freq_factor",
                                      "high_freq_factor",
                                      "short_factor",
                                      "long_factor"};

// longrope: one factor per pair of a head's dimensions.
std::vector<double> read_factors(const ConfigFields& fields, std::string_view key,
                                 std::int64_t head_dim) {
  const std::string label = fields.label(key);
  const Json::Array& list = fields.require(key).as_array(label);
  if (static_cast<std::int64_t>(list.size()) != head_dim / 2) {
    fail(ErrorCode::invalid_argument, fmt::format("{} has {} entries, a head of {} needs {}", label,
                                                  list.size(), head_dim, head_dim / 2));
  }
  std::vector<double> factors;
  for (const Json& item : list) {
    factors.push_back(item.as_double(label));
    if (!(factors.back() > 0)) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: the factor {} is not positive", label, factors.back()));
    }
  }
  return factors;
}

// The factor that is in the file. transformers 4 took the ratio of the lengths for it whenever the
// original length was given, so that a file that disagrees with itself means different things to
// different programs.
void read_factor_or_ratio(const ConfigFields& fields, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  const double ratio =
      static_cast<double>(config.max_positions) / static_cast<double>(rope.original_positions);
  const bool has_original = fields.find("original_max_position_embeddings") != nullptr;
  rope.factor = fields.positive_or("factor", ratio);
  if (has_original && std::fabs(rope.factor - ratio) > 1e-6 * ratio) {
    config.notes.push_back(fmt::format(
        "{}: {} is used, though max_position_embeddings {} is {} times the original {}",
        fields.label("factor"), rope.factor, config.max_positions, ratio, rope.original_positions));
  }
}

void read_yarn(const ConfigFields& fields, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  read_factor_or_ratio(fields, config);
  rope.beta_fast = fields.positive_or("beta_fast", rope.beta_fast);
  rope.beta_slow = fields.positive_or("beta_slow", rope.beta_slow);
  rope.mscale = fields.number_or("mscale", 0);
  rope.mscale_all_dim = fields.number_or("mscale_all_dim", 0);
  rope.truncate = fields.flag("truncate", true);
  if (rope.beta_fast < rope.beta_slow) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} ({}) is below beta_slow ({})", fields.label("beta_fast"), rope.beta_fast,
                     rope.beta_slow));
  }
  if (!(rope.theta > 1)) {
    fail(ErrorCode::invalid_argument, fmt::format("{}: yarn needs a base above 1, not {}",
                                                  fields.label("rope_theta"), rope.theta));
  }
}

void read_llama3(const ConfigFields& fields, RopeConfig& rope) {
  rope.low_freq_factor = fields.positive("low_freq_factor");
  rope.high_freq_factor = fields.positive("high_freq_factor");
  rope.factor = fields.positive("factor");
  fields.require("original_max_position_embeddings");
  if (!(rope.high_freq_factor > rope.low_freq_factor)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} ({}) is not above low_freq_factor ({})", fields.label("high_freq_factor"),
                     rope.high_freq_factor, rope.low_freq_factor));
  }
}

void read_type(const ConfigFields& fields, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  rope.type = fields.text("rope_type", fields.text("type", "default"));
  if (std::find(std::begin(kTypes), std::end(kTypes), rope.type) == std::end(kTypes)) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: \"{}\" is not known; known are default, linear, dynamic, yarn, llama3 "
                     "and longrope",
                     fields.label("rope_type"), rope.type));
  }
  // The original length may also stand beside the object; default: the model's own.
  rope.original_positions =
      fields.size_or("original_max_position_embeddings", kMostPositions, rope.original_positions);
  rope.attention_factor = fields.positive_or("attention_factor", 0);
  if (rope.type == "linear" || rope.type == "dynamic") rope.factor = fields.positive("factor");
  if (rope.type == "yarn") read_yarn(fields, config);
  if (rope.type == "llama3") read_llama3(fields, rope);
  if (rope.type == "longrope") {
    read_factor_or_ratio(fields, config);
    rope.short_factor = read_factors(fields, "short_factor", config.head_dim);
    rope.long_factor = read_factors(fields, "long_factor", config.head_dim);
  }
}

void read_other_keys(const ConfigFields& fields, std::string_view object_name,
                     ModelConfig& config) {
  for (const auto& [key, value] : fields.object().as_object()) {
    if (std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys)) continue;
    if (value.is_object() ||
        (key == "partial_rotary_factor" && value.is_number() && value.as_double(key) != 1.0)) {
      fail(ErrorCode::unsupported,
           fmt::format("{}: rotations of parts of a head, or that differ by kind of layer, are not "
                       "supported",
                       fields.label(key)));
    }
    config.unknown_keys.push_back(fmt::format("{}.{}", object_name, key));
  }
}

}  // namespace

void read_rope(const ConfigFields& fields, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  rope.original_positions =
      fields.size_or("original_max_position_embeddings", kMostPositions, config.max_positions);
  const bool has_theta = fields.find("rope_theta") != nullptr;
  if (has_theta) rope.theta = fields.positive("rope_theta");
  // The two spellings: rope_theta beside rope_scaling, or one object rope_parameters.
  const std::string_view key = fields.find("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const Json* object = fields.find(key);
  if (object != nullptr) {
    object->as_object(fields.label(key));
    const ConfigFields inner(*object, fields.label(key));
    const double outer = rope.theta;
    rope.theta = inner.positive_or("rope_theta", outer);
    if (has_theta && rope.theta != outer) {
      config.notes.push_back(fmt::format("{}: {} is used, not the {} beside it",
                                         inner.label("rope_theta"), rope.theta, outer));
    }
    if (rope.theta > 0) read_type(inner, config);
    read_other_keys(inner, key, config);
  }
  if (!(rope.theta > 0)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} is missing (nor is it in rope_parameters); Linnet does not guess it",
                     fields.label("rope_theta")));
  }
}

void stretch_context(ModelConfig& config, double factor) {
  const double positions = static_cast<double>(config.max_positions) * factor;
  if (!(factor > 1) || !(positions <= static_cast<double>(kMostPositions))) {
    fail(
        ErrorCode::invalid_argument,
        fmt::format("a context of {} positions times {}: expected a factor above 1, and at most {} "
                    "positions in all",
                    config.max_positions, factor, kMostPositions));
  }
  RopeConfig& rope = config.rope;
  if (rope.type != "default" || !(rope.theta > 1)) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: its rotations are scaled already (type {}, base {}), so its context "
                     "cannot be stretched",
                     config.name, rope.type, rope.theta));
  }
  rope.type = "yarn";
  rope.factor = factor;
  rope.original_positions = config.max_positions;
  config.max_positions = static_cast<std::int64_t>(positions);
}

}  // namespace linnet
