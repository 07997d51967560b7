#include "formats/safetensors_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/file_map.h"
#include "base/json.h"
#include "formats/safetensors.h"

namespace linnet {
namespace {

std::uint64_t bytes_of(const TensorInfo& info) {
  return tensor_bytes(info.dtype, info.shape, info.name);
}

void check_names(const std::vector<OutgoingTensor>& tensors, const std::string& file) {
  std::unordered_set<std::string_view> names;
  for (const OutgoingTensor& tensor : tensors) {
    if (tensor.info.name != "__metadata__" && names.insert(tensor.info.name).second) continue;
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: cannot write a second tensor {}", file, json_quote(tensor.info.name)));
  }
}

Json entry_of(const TensorInfo& info, std::uint64_t begin, std::uint64_t end) {
  Json shape = Json::array();
  for (const std::int64_t axis : info.shape) shape.push_back(axis);
  Json entry = Json::object();
  entry.set("dtype", safetensors_dtype_name(info.dtype));
  entry.set("shape", std::move(shape));
  entry.set("data_offsets", Json::Array{Json(begin), Json(end)});
  return entry;
}

// Length and JSON, padded with spaces so that the data begins at a multiple of eight.
std::string header_of(const std::vector<OutgoingTensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  Json::Object header;
  if (!metadata.empty()) {
    Json::Object texts;
    for (const auto& [key, text] : metadata) texts.emplace_back(key, text);
    header.emplace_back("__metadata__", std::move(texts));
  }
  std::uint64_t size = 0;
  for (const OutgoingTensor& tensor : tensors) {
    const std::uint64_t end = size + bytes_of(tensor.info);
    header.emplace_back(tensor.info.name, entry_of(tensor.info, size, end));
    size = end;
  }
  std::string content = Json(std::move(header)).dump();
  content.resize((content.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = content.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + content;
}

// The ends of the shards: indices behind their last tensors.
std::vector<std::size_t> shard_ends(const std::vector<OutgoingTensor>& tensors,
                                    std::uint64_t shard_bytes) {
  std::vector<std::size_t> ends;
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint64_t bytes = bytes_of(tensors[i].info);
    if (size > 0 && size + bytes > shard_bytes) {
      ends.push_back(i);
      size = 0;
    }
    size += bytes;
  }
  ends.push_back(tensors.size());
  return ends;
}

std::string index_of(std::uint64_t parameters, std::uint64_t bytes,
                     const std::map<std::string, std::string>& homes) {
  Json::Object map;
  for (const auto& [tensor, shard] : homes) map.emplace_back(tensor, shard);
  Json metadata = Json::object();
  metadata.set("total_parameters", parameters);
  metadata.set("total_size", bytes);
  Json index = Json::object();
  index.set("metadata", std::move(metadata));
  index.set("weight_map", std::move(map));
  return index.dump({.indent = 2}) + "\n";
}

}  // namespace

void write_safetensors_file(const std::filesystem::path& path, std::vector<OutgoingTensor> tensors,
                            const std::map<std::string, std::string>& metadata,
                            TensorOutput& output) {
  check_names(tensors, path.string());
  std::sort(tensors.begin(), tensors.end(), [](const OutgoingTensor& a, const OutgoingTensor& b) {
    const auto key = [](const TensorInfo& info) {
      return std::tuple(-dtype_info(info.dtype).block_bytes, std::string_view(info.name));
    };
    return key(a.info) < key(b.info);
  });
  const std::string header = header_of(tensors, metadata);
  AtomicFile file(path);
  file.reserve(header.size() + total_bytes(tensors));
  file.write(as_bytes(header));
  for (const OutgoingTensor& tensor : tensors) output.write(tensor, file);
  file.commit();
}

void write_safetensors(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<OutgoingTensor> outgoing;
  for (const auto& [name, tensor] : tensors) {
    outgoing.push_back(
        {{name, tensor.dtype(), tensor.shape()}, [tensor = tensor] { return tensor; }});
  }
  TensorOutput output(total_bytes(outgoing), {});
  write_safetensors_file(path, std::move(outgoing), metadata, output);
}

std::vector<std::string> write_safetensors_model(const std::filesystem::path& folder,
                                                 std::vector<OutgoingTensor> tensors,
                                                 std::uint64_t shard_bytes, TensorOutput& output) {
  const std::map<std::string, std::string> metadata = {{"format", "pt"}};
  check_names(tensors, folder.string());
  const std::vector<std::size_t> ends = shard_ends(tensors, shard_bytes);
  if (ends.size() == 1) {
    write_safetensors_file(folder / "model.safetensors", std::move(tensors), metadata, output);
    return {"model.safetensors"};
  }
  std::vector<std::string> names;
  std::map<std::string, std::string> homes;
  std::uint64_t parameters = 0;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    names.push_back(fmt::format("model-{:05}-of-{:05}.safetensors", names.size() + 1, ends.size()));
    std::vector<OutgoingTensor> shard(tensors.begin() + static_cast<std::ptrdiff_t>(begin),
                                      tensors.begin() + static_cast<std::ptrdiff_t>(end));
    for (const OutgoingTensor& tensor : shard) {
      homes.emplace(tensor.info.name, names.back());
      parameters += static_cast<std::uint64_t>(element_count(tensor.info.shape, tensor.info.name));
    }
    write_safetensors_file(folder / names.back(), std::move(shard), metadata, output);
    begin = end;
  }
  names.emplace_back("model.safetensors.index.json");
  write_file_atomically(folder / names.back(),
                        as_bytes(index_of(parameters, total_bytes(tensors), homes)));
  return names;
}

}  // namespace linnet
