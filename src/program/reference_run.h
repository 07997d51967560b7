// One run of the reference lane: the values of one batch, and a function per kind of step.
#pragma once

#include <span>
#include <vector>

#include "base/memory_account.h"
#include "program/placed_rows.h"
#include "program/reference_lane.h"

namespace linnet {

class ReferenceRun {
 public:
  ReferenceRun(const Program& program, const std::vector<Tensor>& weights, ThreadPool& pool,
               const Batch& batch, const RunOptions& options);

  void execute(const Step& step);
  // [rows, width] of a value that was computed and not released.
  std::span<float> value(ValueId id);
  // The rows now count in their caches; nothing may fail afterwards.
  void commit() { rows_.commit(); }
  // The value's memory may be used for others.
  void release(ValueId id);

 private:
  std::int64_t row_count(ValueId id) const;
  std::int64_t width(ValueId id) const {
    return program_.values[static_cast<std::size_t>(id)].width;
  }
  const Tensor& weight(const Step& step, int i) const;
  void allocate(ValueId id);
  void tell_hidden(ValueId id);

  void embed(const Step& step);
  void rms_norm(const Step& step);
  void linear(const Step& step);
  void rope(const Step& step);
  void attention(const Step& step);
  void append_to_cache(const Step& step);
  void attend(const Step& step, std::int64_t row, std::int64_t kv_head, std::vector<float>& scores);
  void gated_activation(const Step& step);
  void add(const Step& step);
  void select_rows(const Step& step);

  const Program& program_;
  const std::vector<Tensor>& weights_;
  ThreadPool& pool_;
  const Batch& batch_;
  const RunOptions& options_;
  PlacedRows rows_;
  std::vector<Buffer> values_;  // by value id
  std::vector<Buffer> free_;
};

}  // namespace linnet
