// One .safetensors file: eight bytes of header length, a JSON header, the data. Opening checks the
// whole header: types, shapes against extents, no overlap, no hole, nothing left over, no name
// twice. Tensors are views of the file and keep it alive.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/file_map.h"
#include "formats/tensor_info.h"

namespace linnet {

class SafetensorsFile {
 public:
  // Errors: not_found, io; corrupt_file naming the file and, where one is to blame, the tensor;
  // unsupported for the element types of the format that Linnet does not read.
  static std::shared_ptr<const SafetensorsFile> open(const std::filesystem::path& path,
                                                     FileAccess access = FileAccess::map);
  // The same for bytes in memory, which `owner` keeps alive; `name` is for messages.
  static std::shared_ptr<const SafetensorsFile> from_bytes(Bytes bytes, const std::string& name,
                                                           std::shared_ptr<const void> owner);

  const std::string& name() const { return name_; }
  // In the order of the data.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // A view of the file; a copy where the file holds it misaligned. Error{not_found} without it.
  Tensor tensor(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  SafetensorsFile() = default;

  std::string name_;
  std::shared_ptr<const void> owner_;
  std::vector<TensorInfo> tensors_;
  std::vector<Bytes> data_;  // of tensors_[i]
  std::unordered_map<std::string_view, std::size_t> index_;
  std::map<std::string, std::string> metadata_;
};

// The format's name of a type ("BF16"); Error{unsupported} for blocks, which it does not know.
std::string_view safetensors_dtype_name(DType dtype);

// One file of tensors that are in memory already, complete or not at all. For models, see
// safetensors_writer.h.
void write_safetensors(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace linnet
