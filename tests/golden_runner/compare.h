// Comparing arrays: an element passes when |got - expected| <= atol + rtol * |expected|.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "formats/safetensors.h"

namespace golden {

struct Tolerance {
  double absolute = 1e-4;
  double relative = 1e-4;
  // "tolerance" of the case, else of the head of cases.json, else 1e-4.
  static Tolerance of(const linnet::Json& head, const linnet::Json& test_case);
};

// Nothing when all pass; else the count of misses and the worst one with its index and numbers.
std::optional<std::string> difference(std::span<const float> got, std::span<const float> expected,
                                      Tolerance tolerance);

// The array that `field` of inputs or expected names; nothing when the case has no such field.
std::optional<linnet::Tensor> find_array(const linnet::Json& test_case, std::string_view part,
                                         std::string_view field,
                                         const linnet::SafetensorsFile& arrays);

}  // namespace golden
