// Finds the tensors that a program needs in a model's files, checks them, and decodes small models
// to f32 once.
#pragma once

#include <vector>

#include "formats/model_files.h"
#include "model/model.h"
#include "program/program.h"

namespace linnet {

struct LoadedWeights {
  std::vector<Tensor> tensors;  // in the order of program.weights
  LoadReport report;
};

// `program` is that of `config`. Error{corrupt_file} lists every missing and every wrongly shaped
// tensor by name.
LoadedWeights load_weights(const ModelFiles& files, const ModelConfig& config,
                           const Program& program, ThreadPool& pool, const LoadOptions& options);

// A new tensor: normal numbers with the given deviation (Box and Muller), which depend on seed,
// place and shape only.
Tensor random_normal(const Shape& shape, float deviation, std::uint64_t seed);

}  // namespace linnet
