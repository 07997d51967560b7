// The reference lane: runs a program step by step in f32 with plain loops. The oracle for every
// other lane, and the lane for everything exotic.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "program/lane.h"
#include "tensor/tensor.h"

namespace linnet {

class ReferenceLane : public Lane {
 public:
  // `weights` in the order of program.weights, of any dtype that decodes to f32.
  ReferenceLane(std::shared_ptr<const Program> program, std::vector<Tensor> weights,
                std::shared_ptr<ThreadPool> pool);

  std::string_view name() const override { return "reference"; }
  std::int64_t block_bytes() const override {
    return KvCache::plain_block_bytes(program_->layers, program_->kv_width);
  }
  KvCache cache_in(std::shared_ptr<BlockPool> pool) const override {
    return KvCache::plain(std::move(pool), program_->kv_width);
  }
  void read_cache(KvCache& cache, std::int64_t layer, std::int64_t position, float* keys,
                  float* values) const override;

  const Program& program() const override { return *program_; }
  ThreadPool& pool() const override { return *pool_; }

 protected:
  std::vector<float> run_rows(const Batch& batch, const RunOptions& options) const override;

 private:
  std::shared_ptr<const Program> program_;
  std::vector<Tensor> weights_;
  std::shared_ptr<ThreadPool> pool_;
  std::vector<std::int32_t> last_use_;  // per value: index of the last step that reads it
};

// Bytes of the values that are there at the same time in a run of `rows` rows, one selected.
std::int64_t reference_scratch_bytes(const Program& program, std::int64_t rows);

}  // namespace linnet
