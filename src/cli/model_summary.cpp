#include "cli/model_summary.h"

#include <fmt/core.h>

#include "base/error.h"
#include "engine/assistant.h"
#include "model/build_program.h"
#include "model/find_weights.h"
#include "model/model.h"
#include "model/rope.h"
#include "native/packed_model.h"
#include "program/kv_cache.h"

namespace linnet {
namespace {

std::vector<StoredType> stored_types(const ModelSummary& summary) {
  const LoadOptions options;
  const WeightFinder finder(summary.files, summary.config, summary.program, options);
  std::vector<StoredType> types;
  for (const WeightSlot& slot : summary.program.weights) {
    const std::string name = finder.file_name(slot);
    const TensorInfo* info = summary.files.find(name);
    types.push_back(info == nullptr ? StoredType{summary.dtype}
                                    : StoredType{info->dtype, info->coding});
    if (types.back().dtype != DType::coded) continue;
    const Tensor tensor = summary.files.tensor(name);
    types.back().grouped = tensor.coded_rows()->grouped();
  }
  return types;
}

DType dtype_of_config(const Json& config) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    const Json* name = config.find(key);
    if (name == nullptr || !name->is_string()) continue;
    if (name->as_string() == "bfloat16") return DType::bf16;
    if (name->as_string() == "float16") return DType::f16;
  }
  return DType::f32;
}

void count_parts(ModelSummary& summary) {
  for (const WeightSlot& slot : summary.program.weights) {
    summary.parameters += static_cast<std::uint64_t>(element_count(slot.shape, slot.name));
  }
  const auto packed = PackedModel::open(summary.files.packed, summary.files.access);
  for (const PackedPart& part : packed->parts()) {
    summary.tensor_bytes += part.bytes.size();
    summary.bytes_by_type[part.format] += part.bytes.size();
  }
  summary.tensors = packed->parts().size();
}

void count_tensors(ModelSummary& summary) {
  summary.dtype = dtype_of_config(summary.files.config);
  if (!summary.files.packed.empty()) return count_parts(summary);
  if (summary.files.weights == nullptr) {
    for (const WeightSlot& slot : summary.program.weights) {
      summary.parameters += static_cast<std::uint64_t>(element_count(slot.shape, slot.name));
      summary.tensor_bytes += tensor_bytes(summary.dtype, slot.shape, slot.name);
    }
    return;
  }
  summary.tensors = summary.files.weights->tensors().size();
  for (const TensorInfo& info : summary.files.weights->tensors()) {
    const std::uint64_t bytes = stored_bytes(info);
    summary.parameters += static_cast<std::uint64_t>(element_count(info.shape, info.name));
    summary.tensor_bytes += bytes;
    summary.bytes_by_type[std::string(type_name(info))] += bytes;
  }
}

}  // namespace

ModelSummary summarize_model(const std::filesystem::path& path, const OpenOptions& options,
                             double yarn) {
  ModelSummary summary;
  summary.files = open_model_files(path, options);
  summary.config = ModelConfig::from_json(summary.files.config, summary.files.config_file);
  if (yarn > 0) stretch_context(summary.config, yarn);
  summary.program = build_program(summary.config);
  count_tensors(summary);
  try {
    summary.tokenizer = summary.files.load_tokenizer();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  summary.stop_ids = find_stop_ids(summary.files, summary.config, summary.tokenizer.get());
  return summary;
}

MemoryEstimate estimate_memory(const ModelSummary& summary, std::int64_t context,
                               const LaneChoice& lane) {
  const std::int64_t most = summary.config.context();
  if (context < 1 || context > most) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--context: the model has {} positions, {} were asked for", most, context));
  }
  LaneMemory held = lane_memory(lane, summary.program, stored_types(summary));
  if (!summary.files.packed.empty()) held.weights = 0;  // mapped as they are
  const auto blocks = static_cast<std::uint64_t>((context - 1) / KvCache::kBlockPositions + 1);
  const std::uint64_t cache =
      checked_mul(blocks, static_cast<std::uint64_t>(held.cache_block), "cache size");
  return {context, summary.tensor_bytes, std::move(held), cache};
}

std::uint64_t bytes_as(const ModelSummary& summary, DType dtype) {
  std::uint64_t bytes = 0;
  for (const WeightSlot& slot : summary.program.weights) {
    const bool fits =
        slot.shape.size() > 1 && slot.shape.back() % dtype_info(dtype).block_values == 0;
    bytes += tensor_bytes(fits ? dtype : DType::f32, slot.shape, slot.name);
  }
  return bytes;
}

}  // namespace linnet
