#include "native/fallback_lane.h"

#include <fmt/core.h>

#include <utility>

#include "base/log.h"
#include "base/telemetry.h"

namespace linnet {
namespace {

Json shape_json(std::initializer_list<std::int64_t> axes) {
  Json shape = Json::array();
  for (const std::int64_t axis : axes) shape.push_back(axis);
  return shape;
}

Json request_metadata(const Batch& batch, const Program& program, std::string_view op) {
  Json shapes = Json::array(), dtypes = Json::array();
  if (batch.embeddings.empty()) {
    shapes.push_back(shape_json({batch.rows()}));
    dtypes.push_back("i32");
  } else {
    shapes.push_back(shape_json({batch.rows(), program.hidden}));
    dtypes.push_back("f32");
  }
  if (!batch.head_mask.empty()) {
    shapes.push_back(shape_json({program.layers, program.heads}));
    dtypes.push_back("f32");
  }
  Json metadata = Json::object();
  metadata.set("op", op).set("input_shapes", std::move(shapes));
  metadata.set("input_dtypes", std::move(dtypes));
  return metadata;
}

}  // namespace

FallbackLane::FallbackLane(std::unique_ptr<NativeLane> native, std::vector<Tensor> weights,
                           bool warn)
    : native_(std::move(native)),
      reference_(native_->shared_program(), std::move(weights), native_->shared_pool()),
      warn_(warn) {}

void FallbackLane::read_cache(KvCache& cache, std::int64_t layer, std::int64_t position,
                              float* keys, float* values) const {
  const Lane& lane = cache.has_plain_blocks() ? static_cast<const Lane&>(reference_) : *native_;
  lane.read_cache(cache, layer, position, keys, values);
}

void FallbackLane::convert(KvCache& cache) const {
  KvCache plain = reference_.make_cache();
  plain.take_place_of(cache);
  for (std::int64_t layer = 0; layer < program().layers; ++layer) {
    for (std::int64_t position = 0; position < cache.length(); ++position) {
      native_->read_cache(cache, layer, position, plain.key(layer, position),
                          plain.value(layer, position));
    }
  }
  cache = std::move(plain);
}

std::vector<float> FallbackLane::run_rows(const Batch& batch, const RunOptions& options) const {
  std::string_view op = unsupported_part(batch, options);
  for (const SequenceRows& sequence : batch.sequences) {
    KvCache& cache = *sequence.cache;
    if (!cache.has_plain_blocks()) continue;
    if (cache.length() > 0) {
      if (op.empty()) op = "sequence";
    } else if (op.empty()) {
      KvCache fresh = native_->make_cache();
      fresh.take_place_of(cache);
      cache = std::move(fresh);
    }
  }
  if (op.empty()) return native_->run(batch, options);
  for (const SequenceRows& sequence : batch.sequences) {
    if (!sequence.cache->has_plain_blocks()) convert(*sequence.cache);
  }
  const Json metadata = request_metadata(batch, program(), op);
  if (warn_) tell(metadata);
  const TelemetrySpan span("fallback", metadata);
  return reference_.run(batch, options);
}

void FallbackLane::tell(const Json& request) const {
  const std::string text =
      fmt::format("{} with inputs {} runs in the reference lane", request.at("op").as_string(),
                  request.at("input_shapes").dump());
  const std::lock_guard lock(told_mutex_);
  if (told_.insert(text).second) log_warn(text);
}

}  // namespace linnet
