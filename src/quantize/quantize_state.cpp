#include "quantize/quantize_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/file_map.h"
#include "formats/presence.h"
#include "formats/safetensors.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

constexpr const char* kProgress = "progress.json";
constexpr const char* kTensors = "tensors";
constexpr const char* kHidden = "hidden";

std::int32_t stages_in(const fs::path& path, const Json& settings) {
  try {
    const Json progress = Json::parse_file(path.string());
    const Json* same = progress.find("settings");
    const Json* finished = progress.find("finished");
    if (same == nullptr || !(*same == settings) || finished == nullptr) return 0;
    return static_cast<std::int32_t>(finished->is_int() ? finished->as_int() : 0);
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

QuantizeState::QuantizeState(fs::path folder, Json settings)
    : folder_(std::move(folder)), settings_(std::move(settings)) {
  const fs::path parent = folder_.has_parent_path() ? folder_.parent_path() : ".";
  if (!is_there(parent)) {
    fail(ErrorCode::not_found,
         fmt::format("{}: there is no folder {}", folder_.string(), parent.string()));
  }
  if (is_there(folder_ / kProgress)) finished_ = stages_in(folder_ / kProgress, settings_);
}

// Nothing of an earlier run with other settings stays.
void QuantizeState::begin() const {
  std::error_code error;
  fs::remove_all(folder_, error);
  if (!error) fs::create_directory(folder_, error);
  if (!error) return;
  fail(ErrorCode::io,
       fmt::format("cannot make the folder {}: {}", folder_.string(), error.message()));
}

fs::path QuantizeState::path_of(const char* kind, std::int32_t stage) const {
  return folder_ / fmt::format("{}-{:05}.safetensors", kind, stage);
}

HiddenRows QuantizeState::load_hidden(std::int64_t width, std::int64_t window) const {
  HiddenRows hidden;
  if (finished_ == 0) return hidden;
  const std::vector<float> all =
      SafetensorsFile::open(path_of(kHidden, finished_))->tensor(kHidden).to_floats();
  const auto size = static_cast<std::size_t>(window * width);
  for (std::size_t first = 0; first < all.size(); first += size) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    const std::size_t count = std::min(size, all.size() - first);
    hidden.windows.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return hidden;
}

void QuantizeState::finish_stage(const std::vector<std::pair<std::string, Tensor>>& tensors,
                                 const HiddenRows& hidden, std::int64_t width) {
  if (finished_ == 0) begin();
  write_safetensors(path_of(kTensors, finished_), tensors);
  std::vector<float> all;
  for (const auto& rows : hidden.windows) all.insert(all.end(), rows.begin(), rows.end());
  const auto count = static_cast<std::int64_t>(all.size()) / width;
  write_safetensors(path_of(kHidden, finished_ + 1),
                    {{kHidden, Tensor::from_values({count, width}, all)}});
  ++finished_;
  write_progress();
  std::error_code ignored;
  fs::remove(path_of(kHidden, finished_ - 1), ignored);
}

void QuantizeState::write_progress() const {
  Json progress = Json::object();
  progress.set("settings", settings_);
  progress.set("finished", static_cast<std::int64_t>(finished_));
  write_file_atomically(folder_ / kProgress, as_bytes(progress.dump({.indent = 2}) + "\n"));
}

std::shared_ptr<const Weights> QuantizeState::open_weights() const {
  Json map = Json::object();
  for (std::int32_t stage = 0; stage < finished_; ++stage) {
    const fs::path path = path_of(kTensors, stage);
    const auto file = SafetensorsFile::open(path);
    for (const TensorInfo& info : file->tensors()) {
      map.set(info.name, path.filename().string());
    }
  }
  Json index = Json::object();
  index.set("weight_map", map);
  write_file_atomically(folder_ / "model.safetensors.index.json", as_bytes(index.dump()));
  std::vector<std::string> notes;
  return open_safetensors_weights(folder_, FileAccess::map, notes);
}

void QuantizeState::remove() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace linnet
