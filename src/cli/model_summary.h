// What `linnet inspect` tells about a model, gathered without loading its weights.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/lanes.h"
#include "formats/model_files.h"
#include "model/config.h"
#include "program/program.h"

namespace linnet {

struct MemoryEstimate {
  std::int64_t context = 0;
  std::uint64_t weights = 0;  // bytes of the tensors, as the files have them
  LaneMemory held;            // by the lane: the copies of the tensors that loading makes
  std::uint64_t cache = 0;    // keys and values of one sequence of `context` positions
  // The files are mapped: once copied, the system may forget them.
  std::uint64_t total() const { return (held.weights > 0 ? held.weights : weights) + cache; }
};

struct ModelSummary {
  ModelFiles files;
  ModelConfig config;
  Program program;
  std::uint64_t parameters = 0;  // elements of all tensors in the files; without files, of the
                                 // program's weights
  std::size_t tensors = 0;       // in the files; of packed weights the parts
  std::uint64_t tensor_bytes = 0;
  std::map<std::string, std::uint64_t> bytes_by_type;  // of the tensors in the files
  DType dtype = DType::f32;  // of weights that are in no file: the one that the config names
  std::shared_ptr<const Tokenizer> tokenizer;  // null when there is none
  std::vector<TokenId> stop_ids;
};

// Errors: those of opening the files and of the configuration.
ModelSummary summarize_model(const std::filesystem::path& path, const OpenOptions& options,
                             double yarn = 0);

// For `context` positions. Error{invalid_argument} for more than the model has.
MemoryEstimate estimate_memory(const ModelSummary& summary, std::int64_t context,
                               const LaneChoice& lane);

// Bytes of all weights in another type: matrices as it, vectors and odd rows as f32.
std::uint64_t bytes_as(const ModelSummary& summary, DType dtype);

}  // namespace linnet
