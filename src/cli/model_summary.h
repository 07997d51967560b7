// What `linnet inspect` tells about a model, gathered without loading its weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/json.h"
#include "formats/model_files.h"
#include "model/config.h"
#include "program/program.h"

namespace linnet {

struct MemoryEstimate {
  std::int64_t context = 0;
  std::uint64_t weights = 0;  // bytes of the tensors, as the files have them
  std::uint64_t decoded = 0;  // bytes of their f32 copies, where loading makes them
  std::uint64_t cache = 0;    // keys and values of one sequence of `context` positions
};

struct ModelSummary {
  ModelFiles files;
  ModelConfig config;
  Program program;
  std::uint64_t parameters = 0;  // elements of all tensors in the files
  std::uint64_t tensor_bytes = 0;
  std::shared_ptr<const Tokenizer> tokenizer;  // null when there is none
  std::vector<TokenId> stop_ids;
};

// Errors: those of opening the files and of the configuration.
ModelSummary summarize_model(const std::filesystem::path& path, const OpenOptions& options);

// For `context` positions. Error{invalid_argument} for more than the model has.
MemoryEstimate estimate_memory(const ModelSummary& summary, std::int64_t context);

}  // namespace linnet
