#include "model/rope.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"

namespace linnet {

RopeTable make_rope_table(const ModelConfig& config) {
  if (config.rope.type != "default") {
    fail(ErrorCode::unsupported,
         fmt::format("{}: rope_type \"{}\" is not supported yet, only \"default\" is", config.name,
                     config.rope.type));
  }
  RopeTable table;
  for (std::int64_t i = 0; i < config.head_dim / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(config.head_dim);
    table.inverse_frequency.push_back(1.0 / std::pow(config.rope.theta, exponent));
  }
  return table;
}

}  // namespace linnet
