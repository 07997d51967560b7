// One lowered program with its packed weights. Const and thread-safe: what a run needs beside the
// caches comes from a stock of workspaces.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_stock.h"
#include "kernels/packed_matrix.h"
#include "native/lowered.h"
#include "native/packed_model.h"
#include "program/lane.h"
#include "tensor/tensor.h"

namespace linnet {

struct NativeOptions {
  // None: each matrix in the format of its weights in `stored`; of joined weights that differ, in
  // one that holds them all (joined_format).
  std::optional<PackedFormat> weights;  // of all matrices but the head and the embedding
  std::optional<PackedFormat> head;     // those two: a task head as well
  std::vector<MatrixFormat> stored;     // by WeightId; empty: all f32
  CacheFormat cache = CacheFormat::f32;
  const Kernels* kernels = nullptr;  // null: choose_kernels()
};

// What a lane of this program holds, known before its weights are read.
struct NativeMemory {
  std::uint64_t weights = 0;          // bytes of the packed matrices
  std::vector<PackedFormat> formats;  // that they have, each once, in the order of their use
  std::int64_t cache_block = 0;       // bytes of a block of a sequence's cache
};
NativeMemory native_memory(const LoweredProgram& lowered, const Program& program,
                           const NativeOptions& options);

// Memory that runs use one after the other; it grows to the largest of them.
struct Workspace {
  std::vector<Buffer> slots;  // of the memory plan
  Buffer units;               // tiled activations of one linear
  std::vector<float> scales;
  std::vector<std::int32_t> sums;
  Buffer partials;  // of attention

  void set_cached(bool cached);
};

class NativeLane : public Lane {
 public:
  // `weights` in the order of program.weights; they are read row by row and not kept, but for the
  // table of an embedding that is no head. Errors: unsupported with the step and the reason when
  // the program cannot be lowered; out_of_memory; what choose_kernels throws.
  NativeLane(std::shared_ptr<const Program> program, const std::vector<Tensor>& weights,
             std::shared_ptr<ThreadPool> pool, const NativeOptions& options = {});
  // The same lane from a file: its matrices stay there. Errors: corrupt_file for parts that are
  // missing, do not fit or are damaged (every one is read once); and as above.
  NativeLane(std::shared_ptr<const Program> program, const PackedModel& packed,
             std::shared_ptr<ThreadPool> pool, const NativeOptions& options = {});
  ~NativeLane() override;

  // All that the second constructor needs; views into this lane, for as long as it lives.
  std::vector<PackedPart> parts() const;

  std::string_view name() const override { return "native"; }
  std::int64_t block_bytes() const override { return block_bytes_; }
  KvCache cache_in(std::shared_ptr<BlockPool> pool) const override {
    return KvCache(std::move(pool));
  }
  void read_cache(KvCache& cache, std::int64_t layer, std::int64_t position, float* keys,
                  float* values) const override;

  const Program& program() const override { return *program_; }
  ThreadPool& pool() const override { return *pool_; }
  const std::shared_ptr<const Program>& shared_program() const { return program_; }
  const std::shared_ptr<ThreadPool>& shared_pool() const { return pool_; }
  const LoweredProgram& lowered() const { return lowered_; }
  const Kernels& kernels() const { return *kernels_; }
  CacheFormat cache_format() const { return cache_format_; }

  struct Matrix {
    PackedMatrix packed;
    std::vector<float> bias;   // [outputs] in the order of the strips, or empty
    std::int64_t outputs = 0;  // of the result
  };
  const std::vector<Matrix>& matrices() const { return matrices_; }
  const std::vector<float>& vector(WeightId id) const {
    return vectors_[static_cast<std::size_t>(id)];
  }
  // Row `id` of the embedding's table with its factors, [hidden].
  void embed(std::int32_t id, float* out) const;

 protected:
  // Error{unsupported} for a request that unsupported_part() names.
  std::vector<float> run_rows(const Batch& batch, const RunOptions& options) const override;

 private:
  NativeLane(std::shared_ptr<const Program> program, std::shared_ptr<ThreadPool> pool,
             const NativeOptions& options);
  PackedMatrix own_table() const;
  Matrix pack(const MatrixPlan& plan, const MatrixFormat& format,
              const std::vector<Tensor>& weights);

  std::shared_ptr<const Program> program_;
  std::shared_ptr<ThreadPool> pool_;
  const Kernels* kernels_;
  CacheFormat cache_format_;
  std::int64_t block_bytes_;
  LoweredProgram lowered_;
  std::vector<Matrix> matrices_;
  std::vector<std::vector<float>> vectors_;  // norm weights, by WeightId
  // Of the embedding, when no matrix holds it: as the files have it, or from a packed file.
  Tensor table_;
  PackedMatrix packed_table_;
  mutable MemoryStock<Workspace> workspaces_;
};

// What of a request only the reference lane has, "head_mask"; empty: nothing.
std::string_view unsupported_part(const Batch& batch, const RunOptions& options);

}  // namespace linnet
