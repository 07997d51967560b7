// The native lane with the reference lane behind it, for requests that the native lane cannot serve
// (head masks, hidden states, attentions).
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "native/native_lane.h"
#include "program/reference_lane.h"

namespace linnet {

// A sequence that met such a request stays with the reference lane until its cache is empty again:
// its keys and values are taken over as the native cache has them, rounded where that is int8.
// Event: the span fallback, with the op (the part of the request), input_shapes and input_dtypes.
class FallbackLane final : public Lane {
 public:
  // `weights` as for the native lane; they are kept, for the reference lane. `warn`: the log tells
  // each op and its shapes once.
  FallbackLane(std::unique_ptr<NativeLane> native, std::vector<Tensor> weights, bool warn);

  std::string_view name() const override { return native_->name(); }
  std::int64_t block_bytes() const override { return native_->block_bytes(); }
  KvCache cache_in(std::shared_ptr<BlockPool> pool) const override {
    return native_->cache_in(std::move(pool));
  }
  void read_cache(KvCache& cache, std::int64_t layer, std::int64_t position, float* keys,
                  float* values) const override;
  const Program& program() const override { return native_->program(); }
  ThreadPool& pool() const override { return native_->pool(); }

 protected:
  std::vector<float> run_rows(const Batch& batch, const RunOptions& options) const override;

 private:
  // Into the reference lane's layout.
  void convert(KvCache& cache) const;
  void tell(const Json& request) const;

  std::unique_ptr<NativeLane> native_;
  ReferenceLane reference_;
  bool warn_;
  mutable std::mutex told_mutex_;
  mutable std::set<std::string> told_;
};

}  // namespace linnet
