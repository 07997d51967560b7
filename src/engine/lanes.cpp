#include "engine/lanes.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/telemetry.h"
#include "engine/scheduler.h"
#include "kernels/matrix_format_text.h"
#include "native/fallback_lane.h"
#include "native/memory_plan.h"
#include "native/native_lane.h"
#include "program/reference_lane.h"
#include "tensor/coded_rows.h"

namespace linnet {
namespace {

void require_known(std::string_view what, const std::string& name,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string list;
  for (const std::string& other : known) list += (list.empty() ? "" : ", ") + other;
  fail(ErrorCode::invalid_argument, fmt::format("no {} \"{}\": there are {}", what, name, list));
}

PackedFormat format_named(const std::string& name) {
  const auto found = std::find_if(std::begin(kPackedFormats), std::end(kPackedFormats),
                                  [&](PackedFormat f) { return packed_format_name(f) == name; });
  LINNET_CHECK(found != std::end(kPackedFormats));
  return *found;
}

// Four bits are too few for the head: a third of the whole error would be its own. bitsandbytes
// leaves it as it is beside NF4.
PackedFormat head_format(PackedFormat weights) {
  if (weights == PackedFormat::nf4) return PackedFormat::bf16;
  return weights == PackedFormat::n4 ? PackedFormat::s6 : weights;
}

std::uint64_t f32_bytes(const Program& program) {
  std::uint64_t bytes = 0;
  for (const WeightSlot& slot : program.weights) {
    bytes += tensor_bytes(DType::f32, slot.shape, slot.name);
  }
  return bytes;
}

// The format that keeps a weight as it is, where there is one.
std::optional<MatrixFormat> format_of(const StoredType& stored) {
  if (stored.dtype == DType::bf16) return PackedFormat::bf16;
  if (stored.dtype == DType::f16) return PackedFormat::f16;
  if (stored.grouped) return *stored.grouped;
  if (const auto blocks = grouped_format(stored.dtype)) return *blocks;
  for (const PackedFormat format : kPackedFormats) {
    if (stored.dtype == DType::coded && packed_format_name(format) == stored.coding) return format;
  }
  return std::nullopt;
}

bool rounds_activations(PackedFormat format) {
  return is_integer(format) || format == PackedFormat::grouped;
}

CacheFormat cache_format(const LaneChoice& choice, bool has_integers) {
  if (choice.cache == "auto") return has_integers ? CacheFormat::i8 : CacheFormat::f32;
  const auto* found = std::find_if(std::begin(kCacheFormats), std::end(kCacheFormats),
                                   [&](const auto& info) { return info.name == choice.cache; });
  LINNET_CHECK(found != std::end(kCacheFormats));
  return found->format;
}

NativeOptions native_options(const LaneChoice& choice, const Program& program,
                             const std::vector<StoredType>& stored) {
  constexpr std::uint64_t kMostF32 = std::uint64_t{4} << 30;
  NativeOptions options;
  if (choice.weights != "auto") {
    options.weights = format_named(choice.weights);
    options.head = head_format(*options.weights);
  }
  const bool f32_fits = f32_bytes(program) <= kMostF32;
  for (const StoredType& each : stored) {
    options.stored.push_back(
        format_of(each).value_or(f32_fits ? PackedFormat::f32 : PackedFormat::i8));
  }
  const auto& formats =
      options.weights ? std::vector<MatrixFormat>{*options.weights} : options.stored;
  const bool has_integers = std::any_of(formats.begin(), formats.end(), [](const MatrixFormat& f) {
    return rounds_activations(f.kind);
  });
  options.cache = cache_format(choice, has_integers);
  return options;
}

std::vector<StoredType> stored_types(const std::vector<Tensor>& weights) {
  std::vector<StoredType> types;
  for (const Tensor& tensor : weights) {
    const CodedRows* rows = tensor.coded_rows();
    types.push_back({tensor.dtype(), rows == nullptr ? std::string_view() : rows->format(),
                     rows == nullptr ? std::nullopt : rows->grouped()});
  }
  return types;
}

void tell_fallback(const LoweringResult& lowered) {
  Json metadata = Json::object();
  metadata.set("key", lowered.key).set("reason", lowered.reason);
  Json measurements = Json::object();
  measurements.set("count", 1);
  Telemetry::instance().emit("compiler.fallback", std::move(measurements), std::move(metadata));
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (told.insert(lowered.key).second) {
    log_warn("the native lane cannot run this model, so the reference lane does: " +
             lowered.reason);
  }
}

std::unique_ptr<Lane> make_native(const LaneChoice& choice, std::shared_ptr<const Program> program,
                                  const std::vector<Tensor>& weights,
                                  std::shared_ptr<ThreadPool> pool) {
  if (choice.lane == "auto" && choice.native_fallback == "reference") {
    const LoweringResult lowered = lower(*program);
    if (!lowered.reason.empty()) {
      tell_fallback(lowered);
      return std::make_unique<ReferenceLane>(std::move(program), weights, std::move(pool));
    }
  }
  const NativeOptions options = native_options(choice, *program, stored_types(weights));
  auto lane = std::make_unique<NativeLane>(std::move(program), weights, std::move(pool), options);
  if (choice.request_fallback == "raise") return lane;
  return std::make_unique<FallbackLane>(std::move(lane), weights,
                                        choice.request_fallback == "warn");
}

// The formats are those of the file, so only they may be asked for.
std::unique_ptr<Lane> open_packed(const LaneChoice& choice, std::shared_ptr<const Program> program,
                                  const ModelFiles& files, std::shared_ptr<ThreadPool> pool,
                                  std::int64_t context) {
  const auto packed = PackedModel::open(files.packed, files.access);
  const auto is_wanted = [&](const PackedPart& part) {
    return part.format == "vector" || part.format == choice.weights ||
           part.format == packed_format_name(head_format(format_named(choice.weights)));
  };
  if (choice.weights != "auto" &&
      !std::all_of(packed->parts().begin(), packed->parts().end(), is_wanted)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: was not packed as {}; leave --weights out, or take the model that it was "
                     "packed from",
                     files.packed.string(), choice.weights));
  }
  const bool has_integers =
      std::any_of(packed->parts().begin(), packed->parts().end(), [](const PackedPart& part) {
        const auto format = matrix_format_of(part.format);
        return format && rounds_activations(format->kind);
      });
  NativeOptions options;
  options.cache = cache_format(choice, has_integers);
  // The weights lie in the file, or in what was read of it and is in use already.
  const auto memory_of = [&](const LaneChoice& other) -> std::optional<LaneMemory> {
    if (other.weights != choice.weights) return std::nullopt;
    NativeOptions with = options;
    with.cache = cache_format(other, has_integers);
    return LaneMemory{"native", "as they were packed", 0,
                      native_memory(lower(*program).program, *program, with).cache_block};
  };
  require_memory(choice, *program, memory_of, context);
  return std::make_unique<NativeLane>(std::move(program), *packed, std::move(pool), options);
}

}  // namespace

std::vector<std::string> lane_names() { return {"auto", "native", "reference"}; }

std::vector<std::string> weight_names() {
  std::vector<std::string> names = {"auto"};
  for (const PackedFormat format : kPackedFormats) names.emplace_back(packed_format_name(format));
  return names;
}

std::vector<std::string> cache_names() {
  std::vector<std::string> names = {"auto"};
  for (const CacheFormatInfo& info : kCacheFormats) names.emplace_back(info.name);
  return names;
}

std::vector<std::string> native_fallback_names() { return {"reference", "raise"}; }

LaneMemory lane_memory(const LaneChoice& choice, const Program& program,
                       const std::vector<StoredType>& stored) {
  const LoweringResult lowered = lower(program);
  if (choice.lane == "reference" || !lowered.reason.empty()) {
    const std::uint64_t bytes = f32_bytes(program);
    return {"reference", "f32", bytes <= LoadOptions{}.decode_limit ? bytes : 0,
            KvCache::plain_block_bytes(program.layers, program.kv_width)};
  }
  const NativeOptions options = native_options(choice, program, stored);
  const NativeMemory memory = native_memory(lowered.program, program, options);
  std::string formats;
  for (const PackedFormat format : memory.formats) {
    formats += (formats.empty() ? "" : ", ") + std::string(packed_format_name(format));
  }
  return {"native", std::move(formats), memory.weights, memory.cache_block};
}

LaneMemory lane_memory(const LaneChoice& choice, const Program& program,
                       const std::vector<Tensor>& weights) {
  LaneMemory memory = lane_memory(choice, program, stored_types(weights));
  if (memory.lane != "reference") return memory;
  memory.weights = 0;
  if (choice.lane != "reference") return memory;  // a fallback decodes row by row
  for (const Tensor& tensor : weights) {
    if (tensor.dtype() != DType::f32) {
      memory.weights += static_cast<std::uint64_t>(tensor.elements()) * sizeof(float);
    }
  }
  if (memory.weights > LoadOptions{}.decode_limit) memory.weights = 0;
  return memory;
}

std::uint64_t lane_scratch(const LaneChoice& choice, const Program& program, std::int64_t context) {
  const LoweringResult lowered = lower(program);
  const std::int64_t rows = std::min(context, SchedulerOptions{}.prompt_rows);
  if (choice.lane == "reference" || !lowered.reason.empty()) {
    return static_cast<std::uint64_t>(reference_scratch_bytes(program, rows));
  }
  return static_cast<std::uint64_t>(workspace_bytes(lowered.program, rows, context));
}

void choose_lane(const LaneChoice& choice, LoadOptions& options) {
  require_known("lane", choice.lane, lane_names());
  require_known("format of weights", choice.weights, weight_names());
  require_known("format of the cache", choice.cache, cache_names());
  require_known("fallback of programs", choice.native_fallback, native_fallback_names());
  require_known("fallback of requests", choice.request_fallback, {"raise", "silent", "warn"});
  if (choice.memory_limit > 0) {
    options.before_weights = [choice, context = options.context](
                                 const ModelConfig& config, const Program& program,
                                 const std::vector<Tensor>& weights) {
      const auto memory_of = [&](const LaneChoice& other) -> std::optional<LaneMemory> {
        return lane_memory(other, program, weights);
      };
      require_memory(choice, program, memory_of, context == 0 ? config.context() : context);
    };
  }
  if (choice.lane == "reference") {
    options.make_lane = nullptr;
    options.open_packed = nullptr;
    return;
  }
  options.make_lane = [choice](std::shared_ptr<const Program> program,
                               const std::vector<Tensor>& weights,
                               std::shared_ptr<ThreadPool> pool) {
    return make_native(choice, std::move(program), weights, std::move(pool));
  };
  options.open_packed = [choice](std::shared_ptr<const Program> program, const ModelFiles& files,
                                 std::shared_ptr<ThreadPool> pool, std::int64_t context) {
    return open_packed(choice, std::move(program), files, std::move(pool), context);
  };
}

}  // namespace linnet
