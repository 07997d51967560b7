#include "model/rope.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace linnet {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Peng et al., "YaRN": frequencies of few turns over the original length are divided by the
// factor, those of many turns stay, and a ramp joins them.
std::vector<double> yarn_frequencies(const RopeConfig& rope, std::int64_t head_dim) {
  const auto dim = static_cast<double>(head_dim);
  const auto length = static_cast<double>(rope.original_positions);
  // The (fractional) dimension that makes this many turns.
  const auto turns_at = [&](double turns) {
    return dim * std::log(length / (turns * 2 * kPi)) / (2 * std::log(rope.theta));
  };
  double low = turns_at(rope.beta_fast), high = turns_at(rope.beta_slow);
  if (rope.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, dim - 1);
  if (low == high) high += 0.001;
  std::vector<double> frequencies = plain_frequencies(rope.theta, head_dim);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] * (1 - ramp) + frequencies[i] / rope.factor * ramp;
  }
  return frequencies;
}

double yarn_attention_factor(const RopeConfig& rope) {
  const auto scaled = [&](double mscale) {
    return rope.factor <= 1 ? 1.0 : 0.1 * mscale * std::log(rope.factor) + 1.0;
  };
  if (rope.mscale != 0 && rope.mscale_all_dim != 0) {
    return scaled(rope.mscale) / scaled(rope.mscale_all_dim);
  }
  return scaled(1);
}

// Llama 3.1: waves longer than the original length by low_freq_factor are stretched by the factor,
// those shorter by high_freq_factor stay, the others are blended.
std::vector<double> llama3_frequencies(const RopeConfig& rope, std::int64_t head_dim) {
  std::vector<double> frequencies = plain_frequencies(rope.theta, head_dim);
  for (double& frequency : frequencies) {
    const double turns = static_cast<double>(rope.original_positions) * frequency / (2 * kPi);
    const double blend = std::clamp(
        (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor), 0.0, 1.0);
    frequency = (1 - blend) * frequency / rope.factor + blend * frequency;
  }
  return frequencies;
}

std::vector<double> divided(std::vector<double> frequencies, const std::vector<double>& factors) {
  for (std::size_t i = 0; i < frequencies.size(); ++i) frequencies[i] /= factors[i];
  return frequencies;
}

// Ding et al., "LongRoPE": a factor for each frequency, others for long sequences.
double longrope_attention_factor(const RopeConfig& rope) {
  if (rope.factor <= 1 || rope.original_positions <= 1) return 1;
  return std::sqrt(1 +
                   std::log(rope.factor) / std::log(static_cast<double>(rope.original_positions)));
}

RopeTable table_of(const RopeConfig& rope, const ModelConfig& config) {
  RopeTable table;
  table.inverse_frequency = plain_frequencies(rope.theta, config.head_dim);
  if (rope.type == "linear") {
    for (double& frequency : table.inverse_frequency) frequency /= rope.factor;
  } else if (rope.type == "dynamic") {
    table.limit = config.max_positions;
    table.theta = rope.theta;
    table.factor = rope.factor;
  } else if (rope.type == "llama3") {
    table.inverse_frequency = llama3_frequencies(rope, config.head_dim);
  } else if (rope.type == "yarn") {
    table.inverse_frequency = yarn_frequencies(rope, config.head_dim);
    table.attention_factor = yarn_attention_factor(rope);
  } else if (rope.type == "longrope") {
    // Equal factors (files of Llama 3.1 as GGUF) do not depend on the length.
    if (rope.long_factor != rope.short_factor) table.limit = rope.original_positions;
    table.long_inverse_frequency = divided(table.inverse_frequency, rope.long_factor);
    table.inverse_frequency = divided(table.inverse_frequency, rope.short_factor);
    table.attention_factor = longrope_attention_factor(rope);
  }
  // Only the types that scale cos and sin read it.
  const bool scales = rope.type == "yarn" || rope.type == "longrope";
  if (scales && rope.attention_factor != 0) table.attention_factor = rope.attention_factor;
  return table;
}

// Beyond this many radians a position, angles of far positions lose their digits.
void check_frequencies(const std::vector<double>& frequencies, const ModelConfig& config) {
  constexpr double kFastest = 64;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    if (frequencies[i] >= 0 && frequencies[i] <= kFastest) continue;
    fail(
        ErrorCode::invalid_argument,
        fmt::format("{}: the rotation ({}, theta {}, factor {}) gives frequency {} for pair {}; it "
                    "must be from 0 to {}",
                    config.name, config.rope.type, config.rope.theta, config.rope.factor,
                    frequencies[i], i, kFastest));
  }
}

}  // namespace

RopeTable make_rope_table(const ModelConfig& config) {
  RopeTable table = table_of(config.rope, config);
  check_frequencies(table.inverse_frequency, config);
  check_frequencies(table.long_inverse_frequency, config);
  return table;
}

}  // namespace linnet
