// The weights of a model brought to another type as they are loaded.
#pragma once

#include <memory>

#include "formats/weights.h"

namespace linnet {

// The same weights, but matrices (for f32, bf16 and f16 vectors too) are of the type `dtype` where
// their rows are a whole number of its blocks. Integers stay as they are. Each tensor is converted
// when it is asked for; values that the type cannot hold are then Error{invalid_argument} with
// their number. Error{unsupported} for a type that cannot be encoded.
std::shared_ptr<const Weights> cast_weights(std::shared_ptr<const Weights> weights, DType dtype);

}  // namespace linnet
