// A model of random weights in the shape of a config: for measuring speed, which does not depend on
// values. Written tensor by tensor, so the model may be larger than the memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "formats/tensor_output.h"

namespace linnet {

enum class RandomFormat : std::uint8_t { f32, bf16, i8, n4, s6 };

struct RandomModelOptions {
  // n4: embedding and head are s6. Matrices whose width the codes do not fill evenly are i8.
  RandomFormat format = RandomFormat::bf16;
  std::uint64_t seed = 0;
  OutputOptions output;
};

struct RandomModelReport {
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;  // of the tensors
};

// `config` is what config.json holds, `config_file` its name for messages; `folder` must be absent
// or empty, and appears whole or not at all. The matrices have a mean square of 1 / inputs, so that
// values keep their size from layer to layer; norms are one, biases zero. The same bytes for the
// same seed and format. Errors: those of ModelConfig::from_json; invalid_argument; io; cancelled.
RandomModelReport write_random_model(const Json& config, const std::string& config_file,
                                     const std::filesystem::path& folder,
                                     const RandomModelOptions& options);

}  // namespace linnet
