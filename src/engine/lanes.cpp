#include "engine/lanes.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/telemetry.h"
#include "native/native_lane.h"
#include "program/reference_lane.h"

namespace linnet {
namespace {

constexpr PackedFormat kFormats[] = {PackedFormat::f32, PackedFormat::bf16, PackedFormat::i8,
                                     PackedFormat::n4};

void require_known(std::string_view what, const std::string& name,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string list;
  for (const std::string& other : known) list += (list.empty() ? "" : ", ") + other;
  fail(ErrorCode::invalid_argument, fmt::format("no {} \"{}\": there are {}", what, name, list));
}

PackedFormat format_named(const std::string& name) {
  const auto found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                  [&](PackedFormat f) { return packed_format_name(f) == name; });
  LINNET_CHECK(found != std::end(kFormats));
  return *found;
}

// Four bits are too few for the head: a third of the whole error would be its own.
PackedFormat head_format(PackedFormat weights) {
  return weights == PackedFormat::n4 ? PackedFormat::i8 : weights;
}

std::uint64_t f32_bytes(const Program& program) {
  std::uint64_t bytes = 0;
  for (const WeightSlot& slot : program.weights) {
    bytes += tensor_bytes(DType::f32, slot.shape, slot.name);
  }
  return bytes;
}

// "auto": the fastest format that keeps the weights as they are, where memory allows it.
NativeOptions native_options(const LaneChoice& choice, const Program& program, bool bf16) {
  constexpr std::uint64_t kMostF32 = std::uint64_t{4} << 30;
  NativeOptions options;
  if (choice.weights != "auto") {
    options.weights = format_named(choice.weights);
  } else if (bf16) {
    options.weights = PackedFormat::bf16;
  } else {
    options.weights = f32_bytes(program) <= kMostF32 ? PackedFormat::f32 : PackedFormat::i8;
  }
  options.head = head_format(options.weights);
  options.cache = choice.cache == "i8" ? CacheFormat::i8 : CacheFormat::f32;
  return options;
}

bool all_bf16(const std::vector<Tensor>& weights) {
  return std::all_of(weights.begin(), weights.end(), [](const Tensor& tensor) {
    return tensor.rank() < 2 || tensor.dtype() == DType::bf16;
  });
}

std::unique_ptr<Lane> make_native(const LaneChoice& choice, std::shared_ptr<const Program> program,
                                  const std::vector<Tensor>& weights,
                                  std::shared_ptr<ThreadPool> pool) {
  if (choice.lane == "auto") {
    const LoweringResult lowered = lower(*program);
    if (!lowered.reason.empty()) {
      Json metadata = Json::object();
      metadata.set("reason", lowered.reason);
      Json measurements = Json::object();
      measurements.set("count", 1);
      Telemetry::instance().emit("compiler.fallback", measurements, metadata);
      return std::make_unique<ReferenceLane>(std::move(program), weights, std::move(pool));
    }
  }
  const NativeOptions options = native_options(choice, *program, all_bf16(weights));
  return std::make_unique<NativeLane>(std::move(program), weights, std::move(pool), options);
}

}  // namespace

std::vector<std::string> lane_names() { return {"auto", "native", "reference"}; }

std::vector<std::string> weight_names() {
  std::vector<std::string> names = {"auto"};
  for (const PackedFormat format : kFormats) names.emplace_back(packed_format_name(format));
  return names;
}

std::vector<std::string> cache_names() { return {"f32", "i8"}; }

LaneMemory lane_memory(const LaneChoice& choice, const Program& program, bool bf16) {
  const LoweringResult lowered = lower(program);
  if (choice.lane == "reference" || !lowered.reason.empty()) {
    const std::uint64_t bytes = f32_bytes(program);
    return {"reference", "f32", bytes <= LoadOptions{}.decode_limit ? bytes : 0,
            KvCache(program.layers, program.kv_width).bytes_per_block()};
  }
  const NativeOptions options = native_options(choice, program, bf16);
  const NativeMemory memory = native_memory(lowered.program, program, options);
  return {"native", std::string(packed_format_name(options.weights)), memory.weights,
          memory.cache_block};
}

void choose_lane(const LaneChoice& choice, LoadOptions& options) {
  require_known("lane", choice.lane, lane_names());
  require_known("format of weights", choice.weights, weight_names());
  require_known("format of the cache", choice.cache, cache_names());
  if (choice.lane == "reference") {
    options.make_lane = nullptr;
    return;
  }
  options.make_lane = [choice](std::shared_ptr<const Program> program,
                               const std::vector<Tensor>& weights,
                               std::shared_ptr<ThreadPool> pool) {
    return make_native(choice, std::move(program), weights, std::move(pool));
  };
}

}  // namespace linnet
