// From one form of a model to another: a GGUF file or a folder of safetensors in, either out, with
// configuration, tokenizer and chat template. Tensors are streamed, so a model may be larger than
// the memory. Nothing is left behind by a conversion that fails.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_files.h"
#include "formats/safetensors_writer.h"
#include "formats/tensor_output.h"

namespace linnet {

struct ConvertOptions {
  // Of matrices; none: as they are (in safetensors, which has no blocks, those become f32, their
  // exact values). Vectors stay f32 in a GGUF file, as llama.cpp wants them; in safetensors they
  // take the type of the matrices where that loses nothing.
  std::optional<DType> dtype;
  std::uint64_t shard_bytes = kDefaultShardBytes;
  bool overwrite = false;  // files that are there
  OutputOptions output;
};

struct ConvertReport {
  std::vector<std::string> files;  // names of what was written
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;         // of the tensors
  std::vector<std::string> notes;  // what changed or was left out, one sentence each
};

// The first check of convert_model, for work that ends in one: Error{invalid_argument} for a target
// that is there (without overwrite), is the source or lies in its folder.
void check_conversion(const ModelFiles& source, const std::filesystem::path& target,
                      bool overwrite);

// A target whose name ends in .gguf becomes a GGUF file, any other a folder. Errors:
// invalid_argument: the target exists (without overwrite), is the source or lies in its folder, a
// type that the format or a weight's value does not fit; unsupported: what the format cannot say,
// by field; corrupt_file for a source that contradicts itself; not_found, io, cancelled.
ConvertReport convert_model(const ModelFiles& source, const std::filesystem::path& target,
                            const ConvertOptions& options);

// For others that write a folder from a model. The place to write, after the checks of a target
// that convert_model makes.
std::filesystem::path checked_target(const ModelFiles& source, const std::filesystem::path& target,
                                     bool overwrite);
// config.json as given, and the tokenizer, template and other small files of the source.
void write_small_files(const ModelFiles& source, const Json& config,
                       const std::filesystem::path& folder, ConvertReport& report);
// Names of the files of weights in a folder, which new ones must not be mixed with.
std::vector<std::string> weight_files(const std::filesystem::path& folder);

}  // namespace linnet
