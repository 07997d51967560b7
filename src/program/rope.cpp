#include <algorithm>
#include <cmath>

#include "program/program.h"

namespace linnet {

std::vector<double> plain_frequencies(double theta, std::int64_t head_dim) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < head_dim / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
    frequencies.push_back(1.0 / std::pow(theta, exponent));
  }
  return frequencies;
}

RopeTable rope_table_for(const RopeTable& table, std::int64_t length) {
  RopeTable resolved{table.inverse_frequency, table.attention_factor};
  if (table.limit == 0 || length <= table.limit) return resolved;
  if (!table.long_inverse_frequency.empty()) {
    resolved.inverse_frequency = table.long_inverse_frequency;
    return resolved;
  }
  const auto head_dim = static_cast<std::int64_t>(table.inverse_frequency.size()) * 2;
  const auto dim = static_cast<double>(head_dim);
  const double ratio = static_cast<double>(length) / static_cast<double>(table.limit);
  const double growth = table.factor * ratio - (table.factor - 1);
  resolved.inverse_frequency =
      plain_frequencies(table.theta * std::pow(growth, dim / (dim - 2)), head_dim);
  return resolved;
}

bool same_rotations(const Program& program, std::int64_t length, std::int64_t other) {
  return std::all_of(program.ropes.begin(), program.ropes.end(), [&](const RopeTable& table) {
    if (table.limit == 0 || length == other) return true;
    const bool is_long = length > table.limit, other_is_long = other > table.limit;
    if (is_long != other_is_long) return false;
    // A base that grows does so with every position.
    return !is_long || !table.long_inverse_frequency.empty();
  });
}

void rotation(const RopeTable& table, std::int64_t position, float* cosine, float* sine) {
  for (std::size_t i = 0; i < table.inverse_frequency.size(); ++i) {
    const double angle = static_cast<double>(position) * table.inverse_frequency[i];
    cosine[i] = static_cast<float>(cos_f64(angle) * table.attention_factor);
    sine[i] = static_cast<float>(sin_f64(angle) * table.attention_factor);
  }
}

void rotate_head(const float* x, const float* cosine, const float* sine, std::int64_t half,
                 float* out) {
  for (std::int64_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    out[i] = a * cosine[i] - b * sine[i];
    out[i + half] = b * cosine[i] + a * sine[i];
  }
}

}  // namespace linnet
