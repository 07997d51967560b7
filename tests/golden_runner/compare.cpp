#include "golden_runner/compare.h"

#include <fmt/core.h>

#include <cmath>

namespace golden {

using linnet::Json;

Tolerance Tolerance::of(const Json& head, const Json& test_case) {
  Tolerance tolerance;
  for (const Json* source : {head.find("tolerance"), test_case.find("tolerance")}) {
    if (source == nullptr || !source->is_object()) continue;
    tolerance = {source->at("atol").as_double("atol"), source->at("rtol").as_double("rtol")};
  }
  return tolerance;
}

std::optional<std::string> difference(std::span<const float> got, std::span<const float> expected,
                                      Tolerance tolerance) {
  if (got.size() != expected.size()) {
    return fmt::format("{} numbers instead of {}", got.size(), expected.size());
  }
  std::size_t misses = 0, worst = 0;
  double worst_excess = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double want = expected[i];
    if (got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) continue;
    const double allowed = tolerance.absolute + tolerance.relative * std::fabs(want);
    const double excess = std::fabs(got[i] - want) - allowed;
    if (excess <= 0) continue;  // false for NaN, which counts as a miss
    ++misses;
    if (misses == 1 || !(excess <= worst_excess)) {
      worst = i;
      worst_excess = excess;
    }
  }
  if (misses == 0) return std::nullopt;
  return fmt::format("{} of {} numbers differ; worst at {}: got {}, expected {} (atol {}, rtol {})",
                     misses, got.size(), worst, got[worst], expected[worst], tolerance.absolute,
                     tolerance.relative);
}

std::optional<linnet::Tensor> find_array(const Json& test_case, std::string_view part,
                                         std::string_view field,
                                         const linnet::SafetensorsFile& arrays) {
  const Json* fields = test_case.find(part);
  const Json* entry = fields != nullptr ? fields->find(field) : nullptr;
  if (entry == nullptr) return std::nullopt;
  return arrays.tensor(entry->at("tensor").as_string("tensor"));
}

}  // namespace golden
