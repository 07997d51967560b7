#include "formats/cast_weights.h"

#include <unordered_map>
#include <utility>

#include "base/memory_account.h"
#include "base/thread_pool.h"
#include "formats/convert_values.h"
#include "tensor/blocks.h"

namespace linnet {
namespace {

bool is_castable(const TensorInfo& info, DType dtype) {
  if (!is_floating(info.dtype) || info.shape.empty()) return false;
  const DTypeInfo& type = dtype_info(dtype);
  return type.plain() || (info.shape.size() > 1 && info.shape.back() % type.block_values == 0);
}

class CastWeights final : public Weights {
 public:
  CastWeights(std::shared_ptr<const Weights> weights, DType dtype)
      : weights_(std::move(weights)), dtype_(dtype) {
    for (TensorInfo info : weights_->tensors()) {
      if (is_castable(info, dtype_)) info.dtype = dtype_;
      index_.emplace(info.name, tensors_.size());
      tensors_.push_back(std::move(info));
    }
  }

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }

  const TensorInfo* find(std::string_view name) const override {
    const auto found = index_.find(std::string(name));
    return found == index_.end() ? nullptr : &tensors_[found->second];
  }

  Tensor tensor(std::string_view name) const override {
    Tensor source = weights_->tensor(name);
    const DType dtype = find(name)->dtype;
    if (source.dtype() == dtype) return source;
    if (source.dtype() == DType::coded) source = source.to_f32();
    const std::int64_t count = source.elements();
    const auto size = static_cast<std::uint64_t>(encoded_bytes(dtype, count));
    auto bytes = std::make_shared<Buffer>(size, MemoryAccount::weights());
    const std::uint64_t overflows =
        convert_values(source.dtype(), source.bytes().data(), dtype, bytes->data(), count, pool_);
    refuse_overflows(overflows, describe(name), dtype);
    const Bytes view(bytes->data(), bytes->size());
    return Tensor(dtype, source.shape(), view, std::move(bytes));
  }

  // Of the tensor in the file: messages are about it.
  std::string describe(std::string_view name) const override { return weights_->describe(name); }

 private:
  std::shared_ptr<const Weights> weights_;
  DType dtype_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string, std::size_t> index_;
  mutable ThreadPool pool_;  // its loops take turns, so callers may come from any thread
};

}  // namespace

std::shared_ptr<const Weights> cast_weights(std::shared_ptr<const Weights> weights, DType dtype) {
  encode(dtype, nullptr, nullptr, 0);  // refuses what cannot be written
  return std::make_shared<CastWeights>(std::move(weights), dtype);
}

}  // namespace linnet
