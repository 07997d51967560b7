// Matrices that the files store as several tensors (codes, scales), seen as one tensor each. The
// config names the method: "quantization_config": {"quant_method": "linnet", "version": 1}.
//
// Of method "linnet" the matrix X.weight of [outputs, inputs] is stored in one of these forms; what
// the numbers mean is told in tensor/quantized_rows.h. Matrices of one model may differ in form.
//   I8  X.weight I8 [outputs, inputs], X.weight_scale F32 [outputs]
//   N4  X.weight U8 [outputs, inputs / 2], the code of an even input in the low four bits of its
//       byte, the next input's in the high ones; X.weight_groups I8 [outputs, ceil(inputs / 32)];
//       X.weight_scale F16 [outputs]
//   S6  X.weight U8 [outputs, inputs * 3 / 4], four times code + 32 in three bytes, the first one's
//       in the lowest bits; X.weight_groups64 I8 [outputs, ceil(inputs / 64)];
//       X.weight_scale F16 [outputs]
// Other tensors (norms, biases, matrices in floats) are stored as ever.
//
// Formats of others that are read: MLX's (affine, mxfp4, mxfp8, nvfp4: X.weight U32, X.scales,
// X.biases; "quantization": {"bits", "group_size", "mode"}, and the same under the names of modules
// that differ), and bitsandbytes' NF4, with and without double quantization.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "formats/weights.h"
#include "tensor/quantized_rows.h"

namespace linnet {

// `stored` with its matrices put together; itself when the config names no method. A method that
// Linnet does not read is passed over here, so that the rest of such a folder can be used.
// Errors: corrupt_file for a matrix whose tensors are missing or do not fit each other; unsupported
// for a newer version.
std::shared_ptr<const Weights> coded_weights(std::shared_ptr<const Weights> stored,
                                             const Json& config, const std::string& config_file);

// Error{unsupported} when the config names a method that coded_weights does not read.
void require_known_coding(const Json& config, const std::string& config_file);

// Takes out what a config says about codes, for weights that are stored without.
void drop_quantization(Json& config);
// What a config needs for method "linnet".
Json own_quantization_config();
// The tensors that store the matrix `name` ("X.weight"). Rows of N4 must have an even width,
// those of S6 a multiple of four.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
NamedTensors stored_tensors(const std::string& name, std::span<const I8Row> rows);
NamedTensors stored_tensors(const std::string& name, std::span<const N4Row> rows);
NamedTensors stored_tensors(const std::string& name, std::span<const S6Row> rows);

}  // namespace linnet
