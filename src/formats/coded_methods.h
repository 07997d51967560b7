// How each method stores a matrix in several tensors: what coded_weights.h puts together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/json.h"
#include "formats/weights.h"
#include "tensor/coded_rows.h"

namespace linnet {

// A matrix that is put together: how it looks, and how it is made.
struct CodedEntry {
  TensorInfo info;
  std::function<std::shared_ptr<const CodedRows>()> make;
};

// The stored tensors, and which of them were found to be parts of matrices.
class CodedParts {
 public:
  explicit CodedParts(const Weights& stored) : stored_(stored) {}
  const Weights& stored() const { return stored_; }
  // Null when it is absent.
  const TensorInfo* find(const std::string& matrix, std::string_view suffix);
  // The part `matrix` + `suffix`, which must be there. Error{corrupt_file}.
  const TensorInfo& require(const std::string& matrix, std::string_view suffix);
  // And have this shape, and one of these types.
  const TensorInfo& require(const std::string& matrix, std::string_view suffix,
                            std::initializer_list<DType> types, const Shape& shape);
  bool is_part(const std::string& name) const { return parts_.contains(name); }

 private:
  const Weights& stored_;
  std::unordered_set<std::string> parts_;
};

// The matrix whose codes a stored tensor holds; none for a tensor that stands for itself. Errors:
// corrupt_file, unsupported.
using CodedMethod = std::function<std::optional<CodedEntry>(const TensorInfo&, CodedParts&)>;

CodedMethod own_method();
// `quantization`: the object of the config with bits, group_size and mode, and perhaps others under
// the names of modules.
CodedMethod mlx_method(const Json& quantization, const std::string& config_file);
CodedMethod nf4_method();

}  // namespace linnet
