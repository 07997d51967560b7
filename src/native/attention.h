// The attention of all rows of a batch over their caches.
#pragma once

#include <cstdint>

#include "base/memory_account.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "native/lowered.h"
#include "program/placed_rows.h"

namespace linnet {

// Keys and values of one position of a head block, [dim] each, as floats.
void read_head(const HeadBlock& layout, CacheFormat format, std::int64_t dim,
               const std::byte* block, std::int64_t position, float* key, float* value);

// First rows and distances between rows, in floats.
struct AttentionRows {
  std::int64_t first = 0;  // these rows are [first, first + count) of all that are placed
  std::int64_t count = 0;
  const float* query = nullptr;  // [heads, head_dim]
  const float* key = nullptr;    // [kv_heads, head_dim]
  const float* value = nullptr;
  float* out = nullptr;  // [heads, head_dim]
  std::int64_t query_stride = 0;
  std::int64_t key_stride = 0;
  std::int64_t value_stride = 0;
  std::int64_t out_stride = 0;
  CacheFormat cache = CacheFormat::f32;
};

// Appends keys and values (rotated as the step says) to the caches, then attends. `partials` grows
// as needed.
void attend_rows(const Kernels& kernels, const NativeStep& step, const AttentionRows& io,
                 const PlacedRows& rows, ThreadPool& pool, Buffer& partials);

}  // namespace linnet
