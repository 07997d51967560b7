// The tensors of a model, under their Hugging Face names, wherever they lie: one safetensors file,
// shards with an index, a GGUF file. Made when the model is opened; the values come when asked for.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_map.h"
#include "formats/tensor_info.h"

namespace linnet {

class Weights {
 public:
  virtual ~Weights() = default;
  // What the files hold, sorted by nothing but their own order.
  virtual const std::vector<TensorInfo>& tensors() const = 0;
  virtual const TensorInfo* find(std::string_view name) const = 0;
  // Error{corrupt_file} when the files have no such tensor.
  virtual Tensor tensor(std::string_view name) const = 0;
  // For messages: `model.safetensors: tensor "a.weight" (BF16 [8, 8])`; also for missing ones.
  virtual std::string describe(std::string_view name) const = 0;
};

// The safetensors of a folder, by the single file or by the index. Null when there are none.
// What is there but not used is told in `notes`.
std::shared_ptr<const Weights> open_safetensors_weights(const std::filesystem::path& folder,
                                                        FileAccess access,
                                                        std::vector<std::string>& notes);

}  // namespace linnet
