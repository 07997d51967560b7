#include "native/attention.h"

#include <algorithm>
#include <vector>

namespace linnet {
namespace {

static_assert(kBlockPositions == KvCache::kBlockPositions);

// One segment of one row's context for one key/value head.
struct Item {
  std::int64_t row;
  std::int64_t first;
  std::int64_t end;
};

class RowAttention {
 public:
  RowAttention(const Kernels& kernels, const NativeStep& step, const AttentionRows& io,
               const PlacedRows& rows, CacheFormat format)
      : kernels_(kernels),
        step_(step),
        io_(io),
        rows_(rows),
        format_(format),
        layout_(format, step.head_dim),
        group_(step.heads / step.kv_heads) {
    // A block holds [layers][kv_heads] of head blocks.
    layer_offset_ = step.layer * step.kv_heads * layout_.bytes();
    partial_floats_ = group_ * (2 + padded_dim(step.head_dim));
    first_items_.push_back(0);
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      const std::int64_t first = rows.first_position(row, step.window);
      const std::int64_t end = rows.row(row).index + 1;
      for (std::int64_t at = first; at < end;) {
        const std::int64_t next = (at / kSegmentPositions + 1) * kSegmentPositions;
        items_.push_back({row, at, std::min(next, end)});
        at = next;
      }
      first_items_.push_back(static_cast<std::int64_t>(items_.size()));
    }
  }

  std::int64_t partial_bytes() const {
    return static_cast<std::int64_t>(items_.size()) * step_.kv_heads * partial_floats_ * 4;
  }

  void append(std::int64_t row) const {
    const PlacedRows::Row& place = rows_.row(row);
    const std::int64_t dim = step_.head_dim, in_block = place.index % kBlockPositions;
    std::vector<float> rotated(static_cast<std::size_t>(dim));
    for (std::int64_t head = 0; head < step_.kv_heads; ++head) {
      const float* key = io_.key + row * io_.key_stride + head * dim;
      if (step_.rope != kNone) {
        rotate_head(key, rows_.cosine(step_.rope, row), rows_.sine(step_.rope, row), dim / 2,
                    rotated.data());
        key = rotated.data();
      }
      std::byte* block = head_block(place, place.index / kBlockPositions, head);
      const float* value = io_.value + row * io_.value_stride + head * dim;
      if (format_ == CacheFormat::f32) {
        store_floats(block, in_block, key, value);
      } else {
        store_bytes(block, in_block, key, value);
      }
    }
  }

  // All heads of one key/value head over one segment.
  void attend(std::int64_t index, std::int64_t kv_head, float* partial) const {
    const Item& item = items_[static_cast<std::size_t>(index)];
    const std::int64_t dim = step_.head_dim;
    const float* query = io_.query + item.row * io_.query_stride + kv_head * group_ * dim;
    std::vector<float> rotated;
    if (step_.rope != kNone) {
      rotated.resize(static_cast<std::size_t>(group_ * dim));
      for (std::int64_t g = 0; g < group_; ++g) {
        rotate_head(query + g * dim, rows_.cosine(step_.rope, item.row),
                    rows_.sine(step_.rope, item.row), dim / 2, rotated.data() + g * dim);
      }
      query = rotated.data();
    }
    const PlacedRows::Row& place = rows_.row(item.row);
    std::vector<const std::byte*> blocks(
        static_cast<std::size_t>((item.end - 1) / kBlockPositions + 1));
    for (auto b = static_cast<std::size_t>(item.first / kBlockPositions); b < blocks.size(); ++b) {
      blocks[b] = head_block(place, static_cast<std::int64_t>(b), kv_head);
    }
    AttentionTask task;
    task.query = query;
    task.heads = group_;
    task.dim = dim;
    task.scale = step_.scale;
    task.blocks = blocks.data();
    task.first = item.first;
    task.end = item.end;
    task.largest = partial;
    task.sum = partial + group_;
    task.mixed = partial + 2 * group_;
    if (format_ == CacheFormat::f32) return kernels_.attend_f32(task);
    const std::int64_t width = padded_dim(dim);
    std::vector<std::int8_t> codes(static_cast<std::size_t>(group_ * width));
    std::vector<float> scales(static_cast<std::size_t>(group_));
    std::vector<std::int32_t> sums(static_cast<std::size_t>(group_));
    for (std::int64_t g = 0; g < group_; ++g) {
      const auto at = static_cast<std::size_t>(g);
      kernels_.quantize(query + g * dim, dim, width, codes.data() + g * width, &scales[at],
                        &sums[at]);
    }
    task.codes = codes.data();
    task.code_scale = scales.data();
    task.code_sum = sums.data();
    kernels_.attend_i8(task);
  }

  // The segments of one row and key/value head, in order, into the result.
  void merge(std::int64_t row, std::int64_t kv_head, const float* partials) const {
    const std::int64_t first = first_items_[static_cast<std::size_t>(row)];
    const std::int64_t end = first_items_[static_cast<std::size_t>(row) + 1];
    const std::int64_t dim = step_.head_dim;
    for (std::int64_t g = 0; g < group_; ++g) {
      float* out = io_.out + row * io_.out_stride + (kv_head * group_ + g) * dim;
      float largest = partial_of(partials, first, kv_head)[g];
      for (std::int64_t i = first; i < end; ++i) {
        largest = std::max(largest, partial_of(partials, i, kv_head)[g]);
      }
      float sum = 0;
      std::fill(out, out + dim, 0.0f);
      for (std::int64_t i = first; i < end; ++i) {
        const float* partial = partial_of(partials, i, kv_head);
        const float weight = exp_f32(partial[g] - largest);
        const float* mixed = partial + 2 * group_ + g * padded_dim(dim);
        sum += partial[group_ + g] * weight;
        for (std::int64_t d = 0; d < dim; ++d) out[d] += mixed[d] * weight;
      }
      for (std::int64_t d = 0; d < dim; ++d) out[d] /= sum;
    }
  }

  std::int64_t items() const { return static_cast<std::int64_t>(items_.size()); }
  const float* partial_of(const float* partials, std::int64_t item, std::int64_t kv_head) const {
    return partials + (kv_head * items() + item) * partial_floats_;
  }
  std::int64_t partial_floats() const { return partial_floats_; }

 private:
  std::byte* head_block(const PlacedRows::Row& place, std::int64_t block, std::int64_t head) const {
    return place.cache->block(block) + layer_offset_ + head * layout_.bytes();
  }

  void store_floats(std::byte* block, std::int64_t position, const float* key,
                    const float* value) const {
    const std::int64_t dim = step_.head_dim;
    auto* keys = reinterpret_cast<float*>(block);
    float* lanes = keys + position / 16 * 16 * dim + position % 16;
    for (std::int64_t d = 0; d < dim; ++d) lanes[16 * d] = key[d];
    float* to = keys + kBlockPositions * dim + position * padded_dim(dim);
    std::copy_n(value, dim, to);
    std::fill(to + dim, to + padded_dim(dim), 0.0f);
  }

  void store_bytes(std::byte* block, std::int64_t position, const float* key,
                   const float* value) const {
    const std::int64_t dim = step_.head_dim, width = padded_dim(dim);
    std::vector<std::int8_t> codes(static_cast<std::size_t>(width));
    std::int32_t sum;
    auto* key_scales = reinterpret_cast<float*>(block + layout_.key_scales());
    kernels_.quantize(key, dim, width, codes.data(), key_scales + position, &sum);
    std::byte* keys = block + position / 16 * 16 * width + position % 16 * 4;
    for (std::int64_t d = 0; d < width; ++d) {
      keys[d / 4 * 64 + d % 4] = static_cast<std::byte>(codes[static_cast<std::size_t>(d)] + 128);
    }
    auto* value_scales = reinterpret_cast<float*>(block + layout_.value_scales());
    kernels_.quantize(value, dim, width, codes.data(), value_scales + position, &sum);
    std::byte* values = block + layout_.values() + position / 2 * 2 * width + position % 2;
    for (std::int64_t d = 0; d < width; ++d) {
      values[2 * d] = static_cast<std::byte>(codes[static_cast<std::size_t>(d)]);
    }
  }

  const Kernels& kernels_;
  const NativeStep& step_;
  const AttentionRows& io_;
  const PlacedRows& rows_;
  CacheFormat format_;
  HeadBlock layout_;  // of one key/value head in a block of one layer
  std::int64_t group_;
  std::int64_t layer_offset_, partial_floats_;
  std::vector<Item> items_;                // of all rows, in order
  std::vector<std::int64_t> first_items_;  // [rows + 1]
};

}  // namespace

void read_head(const HeadBlock& layout, CacheFormat format, std::int64_t dim,
               const std::byte* block, std::int64_t position, float* key, float* value) {
  const std::int64_t width = padded_dim(dim);
  if (format == CacheFormat::f32) {
    const auto* lanes = reinterpret_cast<const float*>(block) + position / 16 * 16 * dim;
    for (std::int64_t d = 0; d < dim; ++d) key[d] = lanes[16 * d + position % 16];
    const auto* values = reinterpret_cast<const float*>(block + layout.values());
    std::copy_n(values + position * width, dim, value);
    return;
  }
  const auto* key_scales = reinterpret_cast<const float*>(block + layout.key_scales());
  const auto* value_scales = reinterpret_cast<const float*>(block + layout.value_scales());
  const std::byte* keys = block + position / 16 * 16 * width + position % 16 * 4;
  const std::byte* values = block + layout.values() + position / 2 * 2 * width + position % 2;
  for (std::int64_t d = 0; d < dim; ++d) {
    const int code = static_cast<int>(keys[d / 4 * 64 + d % 4]) - 128;
    key[d] = static_cast<float>(code) * key_scales[position];
    value[d] = static_cast<float>(static_cast<std::int8_t>(values[2 * d])) * value_scales[position];
  }
}

void attend_rows(const Kernels& kernels, const NativeStep& step, const AttentionRows& io,
                 const PlacedRows& rows, ThreadPool& pool, Buffer& partials) {
  const RowAttention attention(kernels, step, io, rows, io.cache);
  if (static_cast<std::int64_t>(partials.size()) < attention.partial_bytes()) {
    partials = Buffer();
    partials =
        Buffer(static_cast<std::uint64_t>(attention.partial_bytes()), MemoryAccount::scratch());
  }
  float* memory = partials.as<float>().data();
  pool.parallel_for(rows.count(), 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) attention.append(row);
  });
  // Neighbouring rows share most of their context, so a thread takes a run of rows of one head.
  pool.parallel_for(attention.items() * step.kv_heads, 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        attention.attend(i % attention.items(), i / attention.items(),
                                         memory + i * attention.partial_floats());
                      }
                    });
  pool.parallel_for(rows.count(), 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t head = 0; head < step.kv_heads; ++head) attention.merge(row, head, memory);
    }
  });
}

}  // namespace linnet
