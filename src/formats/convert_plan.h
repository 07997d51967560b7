// The tensors of a conversion: which ones, in what order, in which types. Shared by both formats.
#pragma once

#include <string>
#include <vector>

#include "formats/convert.h"

namespace linnet {

// The tensors of the source but for an output matrix that repeats a tied embedding, embedding
// first, then the layers in the order of their numbers. Error{corrupt_file} when config and files
// contradict each other about the output matrix.
std::vector<TensorInfo> tensors_to_convert(const ModelFiles& source, ConvertReport& report);

// The type that each has in the target. Error{invalid_argument} for one that it cannot hold.
DType type_in_gguf(const TensorInfo& info, const ConvertOptions& options, ConvertReport& report);
DType type_in_safetensors(const TensorInfo& info, const ModelFiles& source,
                          const ConvertOptions& options);

// The two conversions, to a target that was checked. They fill the report.
void convert_to_gguf(const ModelFiles& source, const std::filesystem::path& target,
                     const ConvertOptions& options, ConvertReport& report);
void convert_to_folder(const ModelFiles& source, const std::filesystem::path& target,
                       const ConvertOptions& options, ConvertReport& report);

}  // namespace linnet
