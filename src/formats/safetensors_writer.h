// Writes tensors as safetensors: one file, or shards with an index, in the layout that the
// transformers library writes and reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/tensor_output.h"

namespace linnet {

inline constexpr std::uint64_t kDefaultShardBytes = 5'000'000'000;

// One file, complete or not at all. In it wider types stand before narrower ones and equal ones by
// name, so that every tensor is aligned to its type. Error{invalid_argument} for a name that comes
// twice, unsupported for a type that the format does not know.
void write_safetensors_file(const std::filesystem::path& path, std::vector<OutgoingTensor> tensors,
                            const std::map<std::string, std::string>& metadata,
                            TensorOutput& output);

// model.safetensors, or, above `shard_bytes` of data, model-00001-of-N.safetensors and
// model.safetensors.index.json; the tensors fill the shards in the order given, and one that is
// larger than a shard has one of its own. Metadata is {"format": "pt"}. Returns the file names.
std::vector<std::string> write_safetensors_model(const std::filesystem::path& folder,
                                                 std::vector<OutgoingTensor> tensors,
                                                 std::uint64_t shard_bytes, TensorOutput& output);

}  // namespace linnet
