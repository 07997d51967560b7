#include "engine/lanes.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "native/native_lane.h"

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
  const auto found = std::find_if(std::begin(kFormats), std::end(kFormats), [&](PackedFormat f) {
    return packed_format_name(f) == name;
  });
  LINNET_CHECK(found != std::end(kFormats));
  return *found;
}

}  // namespace

std::vector<std::string> lane_names() { return {"reference", "native"}; }

std::vector<std::string> weight_names() {
  std::vector<std::string> names;
  for (const PackedFormat format : kFormats) names.emplace_back(packed_format_name(format));
  return names;
}

std::vector<std::string> cache_names() { return {"f32", "i8"}; }

void choose_lane(const LaneChoice& choice, LoadOptions& options) {
  require_known("lane", choice.lane, lane_names());
  require_known("format of weights", choice.weights, weight_names());
  require_known("format of the cache", choice.cache, cache_names());
  if (choice.lane == "reference") {
    options.make_lane = nullptr;
    return;
  }
  NativeOptions native;
  native.weights = format_named(choice.weights);
  // Four bits are too few for the head: a third of the whole error would be its own.
  native.head = native.weights == PackedFormat::n4 ? PackedFormat::i8 : native.weights;
  native.cache = choice.cache == "i8" ? CacheFormat::i8 : CacheFormat::f32;
  options.make_lane = [native](std::shared_ptr<const Program> program,
                               const std::vector<Tensor>& weights,
                               std::shared_ptr<ThreadPool> pool) -> std::unique_ptr<Lane> {
    return std::make_unique<NativeLane>(std::move(program), weights, std::move(pool), native);
  };
}

}  // namespace linnet
