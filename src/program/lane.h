// A lane runs a program: the reference lane step by step, the native lane with fused kernels. A
// row's result depends on its own sequence only: not on the other rows, nor on how the sequence was
// cut into calls, nor on the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "program/kv_cache.h"
#include "program/program.h"

namespace linnet {

// Consecutive rows of a batch that belong to one sequence; they are appended to its cache.
struct SequenceRows {
  KvCache* cache = nullptr;
  std::int64_t rows = 0;
};

// A ragged batch. Exactly one of tokens and embeddings is given.
struct Batch {
  std::span<const std::int32_t> tokens;     // [rows]
  std::span<const float> embeddings;        // [rows, hidden]
  std::span<const std::int32_t> positions;  // [rows]: for the rotation; the order of rows is causal
  std::span<const std::int32_t> columns;    // [rows]: see KvCache::column; empty: no holes
  std::span<const SequenceRows> sequences;  // their rows add up to all rows
  std::span<const std::int32_t> selected;   // indices of the rows whose output is wanted
  std::span<const float> head_mask;         // [layers, heads] factors on attention, or empty

  std::int64_t rows() const { return static_cast<std::int64_t>(positions.size()); }
};

struct RunOptions {
  // Sees every value when it has been computed: [rows, width].
  std::function<void(const Step&, std::span<const float> rows, std::int64_t width)> on_value;
  // Sees the attention of one head of one row over its sequence, oldest key first. May be called
  // from several threads at once.
  std::function<void(const Step&, std::int64_t row, std::int64_t head, std::span<const float>)>
      on_attention;
  // Sees the residual stream, [rows, hidden]: Program::hidden_states by index, but for the last.
  // Many rows may come in pieces, in their order.
  std::function<void(std::size_t, std::span<const float> rows)> on_hidden;
  // Sees the rows from which the last linear step makes the program's output, [selected, hidden],
  // behind the final norm. Many rows may come in pieces, in their order.
  std::function<void(std::span<const float> rows)> on_output_input;
  // Checked between steps; the run then ends in Error{cancelled} and the caches are as before.
  const std::atomic<bool>* cancel = nullptr;
};

class Lane {
 public:
  virtual ~Lane() = default;
  virtual std::string_view name() const = 0;     // "reference", "native"
  virtual std::int64_t block_bytes() const = 0;  // of a cache
  // A cache with blocks of a pool for this lane (its block_bytes), or with a pool of its own.
  virtual KvCache cache_in(std::shared_ptr<BlockPool> pool) const = 0;
  KvCache make_cache() const { return cache_in(BlockPool::make(block_bytes())); }
  // The program's output for the selected rows, [selected, width], in the order of `selected`; the
  // rows then count in their caches. Errors: invalid_argument (an id outside of the vocabulary,
  // counts that do not fit), cancelled, out_of_memory; unsupported for a request that this lane
  // cannot serve. After any of them the caches are as before. Event: the span eval.
  std::vector<float> run(const Batch& batch, const RunOptions& options = {}) const;
  // What a cache that this lane made holds at a position: [kv_width] floats each, keys as rotated.
  virtual void read_cache(KvCache& cache, std::int64_t layer, std::int64_t position, float* keys,
                          float* values) const = 0;
  virtual const Program& program() const = 0;
  virtual ThreadPool& pool() const = 0;

 protected:
  // A batch that was checked and has rows. May fail with std::bad_alloc, and leave in the caches
  // room that was reserved.
  virtual std::vector<float> run_rows(const Batch& batch, const RunOptions& options) const = 0;
};

// Error{invalid_argument} when the batch does not fit the program or itself.
void check_batch(const Batch& batch, const Program& program);

}  // namespace linnet
