// The reference lane: runs a program step by step in f32 with plain loops. The oracle for every
// other lane, and the lane for everything exotic. A row's result depends on its own sequence only:
// not on the other rows, nor on how the sequence was cut into calls, nor on the number of threads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
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
  // Checked between steps; the run then ends in Error{cancelled} and the caches are as before.
  const std::atomic<bool>* cancel = nullptr;
};

class ReferenceLane {
 public:
  // `weights` in the order of program.weights, of any dtype that decodes to f32.
  ReferenceLane(std::shared_ptr<const Program> program, std::vector<Tensor> weights,
                std::shared_ptr<ThreadPool> pool);

  KvCache make_cache() const { return KvCache(program_->layers, program_->kv_width); }

  // The program's output for the selected rows, [selected, width], in the order of `selected`.
  // Errors: invalid_argument (an id outside of the vocabulary, counts that do not fit), cancelled,
  // out_of_memory.
  std::vector<float> run(const Batch& batch, const RunOptions& options = {}) const;

  const Program& program() const { return *program_; }
  ThreadPool& pool() const { return *pool_; }

 private:
  std::shared_ptr<const Program> program_;
  std::vector<Tensor> weights_;
  std::shared_ptr<ThreadPool> pool_;
  std::vector<std::int32_t> last_use_;  // per value: index of the last step that reads it
};

}  // namespace linnet
