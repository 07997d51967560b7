#include "program/program.h"

namespace linnet {

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
