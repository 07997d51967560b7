#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "formats/presence.h"
#include "formats/safetensors.h"
#include "formats/weights.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::size_t kMaxShards = 10000;

using SharedFile = std::shared_ptr<const SafetensorsFile>;

class SafetensorsWeights final : public Weights {
 public:
  // `source` is the file that decides what belongs to the model: the only one, or the index.
  explicit SafetensorsWeights(std::string source) : source_(std::move(source)) {}

  void add(const TensorInfo& info, SharedFile file) {
    index_.emplace(info.name, tensors_.size());
    tensors_.push_back(info);
    files_.push_back(std::move(file));
  }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }

  const TensorInfo* find(std::string_view name) const override {
    const auto found = index_.find(std::string(name));
    return found == index_.end() ? nullptr : &tensors_[found->second];
  }

  Tensor tensor(std::string_view name) const override {
    const auto found = index_.find(std::string(name));
    if (found == index_.end()) {
      fail(ErrorCode::corrupt_file, fmt::format("{}: there is no such tensor", describe(name)));
    }
    return files_[found->second]->tensor(name);
  }

  std::string describe(std::string_view name) const override {
    const auto found = index_.find(std::string(name));
    if (found == index_.end()) return fmt::format("{}: tensor {}", source_, json_quote(name));
    const TensorInfo& info = tensors_[found->second];
    return fmt::format("{}: tensor {} ({} {})", files_[found->second]->name(), json_quote(name),
                       safetensors_dtype_name(info.dtype), shape_text(info.shape));
  }

 private:
  std::string source_;
  std::vector<TensorInfo> tensors_;
  std::vector<SharedFile> files_;  // of tensors_[i]
  std::unordered_map<std::string, std::size_t> index_;
};

[[noreturn]] void corrupt(std::string_view what, std::string_view reason) {
  fail(ErrorCode::corrupt_file, fmt::format("{}: {}", what, reason));
}

// A shard is a file of the same folder: no path may come from an index.
void check_shard_name(const std::string& shard, const std::string& index) {
  const bool plain = shard.find_first_of("/\\") == std::string::npos &&
                     shard.find('\0') == std::string::npos && !shard.starts_with('.');
  if (!plain || !shard.ends_with(".safetensors")) {
    corrupt(index,
            fmt::format("the shard name {} is not the name of a .safetensors file in the same "
                        "folder",
                        json_quote(shard)));
  }
}

const Json::Object& weight_map(const Json& index, std::string_view name) {
  const Json* map = index.find("weight_map");
  if (map == nullptr || !map->is_object()) {
    corrupt(name, "weight_map, an object of tensor names and shard names, is missing");
  }
  return map->as_object();
}

// The shards that an index names, sorted; each is there.
std::vector<std::string> shard_names(const Json::Object& map, const fs::path& index) {
  std::set<std::string> shards;
  for (const auto& [tensor, value] : map) {
    if (!value.is_string()) {
      corrupt(index.string(), fmt::format("weight_map: {} has no shard name", json_quote(tensor)));
    }
    const std::string& shard = value.as_string();
    if (shards.contains(shard)) continue;
    check_shard_name(shard, index.string());
    if (shards.size() >= kMaxShards) {
      corrupt(index.string(), fmt::format("it names more than {} shards", kMaxShards));
    }
    const fs::path path = index.parent_path() / shard;
    if (!is_there(path)) {
      fail(ErrorCode::not_found,
           fmt::format("{}: this shard is missing, though {} names it; download the model again",
                       path.string(), kIndex));
    }
    shards.insert(shard);
  }
  return {shards.begin(), shards.end()};
}

// In parallel: without a mapping opening reads whole files. The error is that of the first shard
// that has one, however the threads ran.
std::map<std::string, SharedFile> open_shards(const std::vector<std::string>& names,
                                              const fs::path& folder, FileAccess access) {
  std::vector<SharedFile> files(names.size());
  std::vector<std::exception_ptr> errors(names.size());
  ThreadPool pool(static_cast<int>(
      std::min<std::size_t>(names.size(), static_cast<std::size_t>(available_cores()))));
  pool.parallel_for(
      static_cast<std::int64_t>(names.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          try {
            files[i] = SafetensorsFile::open(folder / names[i], access);
          } catch (...) {
            errors[i] = std::current_exception();
          }
        }
      });
  std::map<std::string, SharedFile> shards;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (errors[i]) std::rethrow_exception(errors[i]);
    shards.emplace(names[i], std::move(files[i]));
  }
  return shards;
}

std::shared_ptr<const Weights> open_sharded(const fs::path& path, FileAccess access,
                                            std::vector<std::string>& notes) {
  const Json index = Json::parse_file(path.string());
  const Json::Object& map = weight_map(index, path.string());
  const auto shards = open_shards(shard_names(map, path), path.parent_path(), access);
  auto weights = std::make_shared<SafetensorsWeights>(path.string());
  for (const auto& [tensor, value] : map) {
    const SharedFile& file = shards.at(value.as_string());
    const TensorInfo* info = file->find(tensor);
    if (info == nullptr) {
      corrupt(file->name(), fmt::format("the shard lacks the tensor {}, which {} places in it; the "
                                        "index is stale or the shard is of another model",
                                        json_quote(tensor), kIndex));
    }
    weights->add(*info, file);
  }
  for (const auto& [shard, file] : shards) {
    for (const TensorInfo& info : file->tensors()) {
      const Json* home = index.find("weight_map")->find(info.name);
      if (home != nullptr && home->as_string() == shard) continue;
      notes.push_back(fmt::format("{}: tensor {} ignored, {}", file->name(), json_quote(info.name),
                                  home == nullptr
                                      ? "it is not in the index"
                                      : "the index takes it from " + home->as_string()));
    }
  }
  return weights;
}

}  // namespace

std::shared_ptr<const Weights> open_safetensors_weights(const fs::path& folder, FileAccess access,
                                                        std::vector<std::string>& notes) {
  const fs::path single = folder / kSingle;
  const fs::path index = folder / kIndex;
  if (is_there(single)) {
    const SharedFile file = SafetensorsFile::open(single, access);
    auto weights = std::make_shared<SafetensorsWeights>(single.string());
    for (const TensorInfo& info : file->tensors()) weights->add(info, file);
    if (is_there(index)) {
      notes.push_back(fmt::format("{} ignored, {} is there", index.string(), kSingle));
    }
    return weights;
  }
  if (is_there(index)) return open_sharded(index, access, notes);
  return nullptr;
}

}  // namespace linnet
