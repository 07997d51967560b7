// Sampling defaults under llama.cpp's keys general.sampling.*. GGUF has no do_sample: a temperature
// of 0 means the likeliest token.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "formats/gguf_fields.h"
#include "formats/gguf_model.h"

namespace linnet {
namespace {

struct SamplingKey {
  std::string_view key;
  std::string_view name;
};
constexpr SamplingKey kTemperature = {"general.sampling.temp", "temperature"};
constexpr SamplingKey kTopK = {"general.sampling.top_k", "top_k"};
constexpr SamplingKey kNumbers[] = {
    {"general.sampling.top_p", "top_p"},
    {"general.sampling.min_p", "min_p"},
    {"general.sampling.penalty_repeat", "repetition_penalty"},
};

const Json* given(const Json& config, std::string_view name) {
  const Json* value = config.find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

GgufField number_field(const SamplingKey& key, const Json& value) {
  const std::string field = fmt::format("generation_config: {}", key.name);
  const auto number = static_cast<float>(value.as_double(field));
  if (!std::isfinite(number) || number < 0) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: expected a finite number of at least 0, found {}", field, value.dump()));
  }
  return {std::string(key.key), number};
}

double finite(const GgufFile& file, const SamplingKey& key, const GgufValue& value) {
  const double number = shortest_double(value);
  if (!std::isfinite(number)) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: {}: expected a finite number, found {}", file.name(), key.key, number));
  }
  return number;
}

}  // namespace

std::vector<GgufField> gguf_sampling_fields(const Json& config) {
  std::vector<GgufField> fields;
  const Json* sample = given(config, "do_sample");
  const bool greedy = sample == nullptr || !sample->as_bool("generation_config: do_sample");
  const Json* temperature = given(config, kTemperature.name);
  if (greedy && (sample != nullptr || temperature != nullptr)) {
    fields.push_back({std::string(kTemperature.key), 0.0f});
  } else if (!greedy) {
    fields.push_back(number_field(kTemperature, temperature == nullptr ? Json(1.0) : *temperature));
  }
  if (const Json* value = given(config, kTopK.name)) {
    fields.push_back({std::string(kTopK.key), static_cast<std::int32_t>(value->as_int_in(
                                                  0, std::numeric_limits<std::int32_t>::max(),
                                                  "generation_config: top_k"))});
  }
  for (const SamplingKey& key : kNumbers) {
    if (const Json* value = given(config, key.name)) fields.push_back(number_field(key, *value));
  }
  return fields;
}

std::vector<std::string> lost_generation_fields(const Json& config) {
  std::vector<std::string> lost;
  for (const char* name : {"max_new_tokens", "stop_strings"}) {
    if (given(config, name) != nullptr) lost.emplace_back(name);
  }
  return lost;
}

void add_gguf_sampling(const GgufFile& file, Json& config) {
  if (const GgufValue* value = file.find(kTemperature.key)) {
    const double temperature = finite(file, kTemperature, *value);
    config.set("do_sample", temperature > 0);
    if (temperature > 0) config.set(kTemperature.name, temperature);
  }
  // At or below 0 it is off.
  if (const GgufValue* value = file.find(kTopK.key)) {
    config.set(kTopK.name, std::max<std::int64_t>(0, value->as_int()));
  }
  for (const SamplingKey& key : kNumbers) {
    if (const GgufValue* value = file.find(key.key))
      config.set(key.name, finite(file, key, *value));
  }
}

}  // namespace linnet
