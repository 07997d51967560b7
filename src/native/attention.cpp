#include "native/attention.h"

#include <algorithm>
#include <vector>

#include "tensor/dtype.h"

namespace linnet {
namespace {

static_assert(kBlockPositions == KvCache::kBlockPositions);

// Neighbouring rows of a sequence that attend together: they share most of their context.
constexpr std::int64_t kGroupRows = 8;
constexpr std::int64_t kSegmentBlocks = kSegmentPositions / kBlockPositions;

// One segment of the context, with those of a group's rows that see anything of it.
struct Item {
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t segment;
};

// What a row sees, and where its partial results begin, one for each segment.
struct RowRange {
  std::int64_t first;
  std::int64_t end;
  std::int64_t partial;

  std::int64_t first_segment() const { return first / kSegmentPositions; }
  std::int64_t end_segment() const { return (end - 1) / kSegmentPositions + 1; }
};

// Memory of one thread, which grows to what the largest model needs.
struct AttentionScratch {
  std::vector<float> rotated;
  std::vector<std::int8_t> codes;
  std::vector<float> scales;
  std::vector<std::int32_t> sums;

  void grow(std::int64_t heads, std::int64_t width) {
    const auto values = static_cast<std::size_t>(heads * width);
    // What is compared is resized last: a failure in between must not count as grown.
    if (rotated.size() < values) codes.resize(values), rotated.resize(values);
    if (scales.size() < static_cast<std::size_t>(heads)) {
      sums.resize(static_cast<std::size_t>(heads));
      scales.resize(static_cast<std::size_t>(heads));
    }
  }
};

// What is too large becomes the largest; NaN stays.
std::uint16_t to_f16(float value) { return f32_to_f16(std::clamp(value, -65504.0f, 65504.0f)); }

AttentionScratch& thread_scratch(std::int64_t heads, std::int64_t width) {
  thread_local AttentionScratch scratch;
  scratch.grow(heads, width);
  return scratch;
}

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
        width_(padded_dim(step.head_dim)),
        group_(step.heads / step.kv_heads) {
    // A block holds [layers][kv_heads] of head blocks.
    layer_offset_ = step.layer * step.kv_heads * layout_.bytes();
    partial_floats_ = group_ * (2 + width_);
    ranges_.reserve(static_cast<std::size_t>(io.count));
    for (std::int64_t row = 0; row < io.count; ++row) {
      ranges_.push_back(
          {rows.first_position(io.first + row, step.window), placed(row).index + 1, partials_});
      partials_ += ranges_.back().end_segment() - ranges_.back().first_segment();
    }
    for (std::int64_t row = 0; row < io.count;) row = add_group(row);
  }

  std::int64_t partial_bytes() const { return partials_ * step_.kv_heads * partial_floats_ * 4; }

  void append(std::int64_t row) const {
    const PlacedRows::Row& place = placed(row);
    const std::int64_t dim = step_.head_dim, in_block = place.index % kBlockPositions;
    AttentionScratch& scratch = thread_scratch(1, width_);
    for (std::int64_t head = 0; head < step_.kv_heads; ++head) {
      const float* key = io_.key + row * io_.key_stride + head * dim;
      if (step_.rope != kNone) {
        rotate_head(key, rows_.cosine(step_.rope, io_.first + row),
                    rows_.sine(step_.rope, io_.first + row), dim / 2, scratch.rotated.data());
        key = scratch.rotated.data();
      }
      std::byte* block = head_block(place, place.index / kBlockPositions, head);
      const float* value = io_.value + row * io_.value_stride + head * dim;
      if (format_ == CacheFormat::i8) {
        store_bytes(block, in_block, key, value, scratch.codes.data());
      } else if (format_ == CacheFormat::f16) {
        store_numbers<std::uint16_t>(block, in_block, key, value, to_f16);
      } else {
        store_numbers<float>(block, in_block, key, value, [](float x) { return x; });
      }
    }
  }

  // All heads of one key/value head, of the item's rows over its segment.
  void attend(std::int64_t index, std::int64_t kv_head, float* partials) const {
    const Item& item = items_[static_cast<std::size_t>(index)];
    const std::int64_t start = item.segment * kSegmentPositions;
    const std::int64_t last_end =
        ranges_[static_cast<std::size_t>(item.first_row + item.rows - 1)].end;
    const PlacedRows::Row& place = placed(item.first_row);
    const std::byte* blocks[kSegmentBlocks] = {};
    for (std::int64_t b = 0; b < kSegmentBlocks && start + b * kBlockPositions < last_end; ++b) {
      blocks[b] = head_block(place, start / kBlockPositions + b, kv_head);
    }
    AttentionScratch& scratch = thread_scratch(item.rows * group_, width_);
    AttentionTask tasks[kGroupRows];
    for (std::int64_t i = 0; i < item.rows; ++i) {
      const std::int64_t row = item.first_row + i;
      const RowRange& range = ranges_[static_cast<std::size_t>(row)];
      AttentionTask& task = tasks[i];
      set_query(task, row, kv_head, i * group_, scratch);
      task.heads = group_;
      task.dim = step_.head_dim;
      task.scale = step_.scale;
      task.blocks = blocks;
      task.first = std::max(range.first - start, std::int64_t{0});
      task.end = std::min(range.end - start, kSegmentPositions);
      float* partial =
          partials + partial_at(range.partial + item.segment - range.first_segment(), kv_head);
      task.largest = partial;
      task.sum = partial + group_;
      task.mixed = partial + 2 * group_;
    }
    const std::span<const AttentionTask> rows(tasks, static_cast<std::size_t>(item.rows));
    kernels_.attend[static_cast<std::size_t>(format_)](rows);
  }

  // The segments of one row and key/value head, in order, into the result.
  void merge(std::int64_t row, std::int64_t kv_head, const float* partials) const {
    const RowRange& range = ranges_[static_cast<std::size_t>(row)];
    const std::int64_t count = range.end_segment() - range.first_segment();
    const std::int64_t dim = step_.head_dim;
    const float* of_row = partials + partial_at(range.partial, kv_head);
    for (std::int64_t g = 0; g < group_; ++g) {
      float* out = io_.out + row * io_.out_stride + (kv_head * group_ + g) * dim;
      float largest = of_row[g];
      for (std::int64_t i = 0; i < count; ++i) {
        largest = std::max(largest, of_row[i * partial_floats_ + g]);
      }
      float sum = 0;
      std::fill(out, out + dim, 0.0f);
      for (std::int64_t i = 0; i < count; ++i) {
        const float* partial = of_row + i * partial_floats_;
        const float weight = exp_f32(partial[g] - largest);
        const float* mixed = partial + 2 * group_ + g * width_;
        sum += partial[group_ + g] * weight;
        for (std::int64_t d = 0; d < dim; ++d) out[d] += mixed[d] * weight;
      }
      for (std::int64_t d = 0; d < dim; ++d) out[d] /= sum;
    }
  }

  std::int64_t items() const { return static_cast<std::int64_t>(items_.size()); }

 private:
  const PlacedRows::Row& placed(std::int64_t row) const { return rows_.row(io_.first + row); }

  // The items of the group that begins with `row`; returns the row behind it.
  std::int64_t add_group(std::int64_t row) {
    std::int64_t end = row + 1;
    while (end < io_.count && end - row < kGroupRows && placed(end).cache == placed(row).cache) {
      ++end;
    }
    const auto at = [&](std::int64_t i) { return ranges_[static_cast<std::size_t>(i)]; };
    for (std::int64_t s = at(row).first_segment(); s < at(end - 1).end_segment(); ++s) {
      std::int64_t from = row, to = end;
      while (from < to && at(from).end_segment() <= s) ++from;
      while (to > from && at(to - 1).first_segment() > s) --to;
      if (from < to) items_.push_back({from, to - from, s});
    }
    return end;
  }

  std::int64_t partial_at(std::int64_t partial, std::int64_t kv_head) const {
    return (kv_head * partials_ + partial) * partial_floats_;
  }

  // The query of a row, rotated and in the numbers of the cache; `first` heads of the scratch are
  // in use.
  void set_query(AttentionTask& task, std::int64_t row, std::int64_t kv_head, std::int64_t first,
                 AttentionScratch& scratch) const {
    const std::int64_t dim = step_.head_dim;
    task.query = io_.query + row * io_.query_stride + kv_head * group_ * dim;
    if (step_.rope != kNone) {
      float* rotated = scratch.rotated.data() + first * width_;
      for (std::int64_t g = 0; g < group_; ++g) {
        rotate_head(task.query + g * dim, rows_.cosine(step_.rope, io_.first + row),
                    rows_.sine(step_.rope, io_.first + row), dim / 2, rotated + g * dim);
      }
      task.query = rotated;
    }
    if (format_ != CacheFormat::i8) return;
    std::int8_t* codes = scratch.codes.data() + first * width_;
    for (std::int64_t g = 0; g < group_; ++g) {
      kernels_.quantize(task.query + g * dim, dim, width_, codes + g * width_,
                        scratch.scales.data() + first + g, scratch.sums.data() + first + g);
    }
    task.codes = codes;
    task.code_scale = scratch.scales.data() + first;
    task.code_sum = scratch.sums.data() + first;
  }

  std::byte* head_block(const PlacedRows::Row& place, std::int64_t block, std::int64_t head) const {
    return place.cache->block(block) + layer_offset_ + head * layout_.bytes();
  }

  template <typename Number, typename Convert>
  void store_numbers(std::byte* block, std::int64_t position, const float* key, const float* value,
                     Convert convert) const {
    const std::int64_t dim = step_.head_dim;
    auto* keys = reinterpret_cast<Number*>(block);
    Number* lanes = keys + position / 16 * 16 * dim + position % 16;
    for (std::int64_t d = 0; d < dim; ++d) lanes[16 * d] = convert(key[d]);
    Number* to = keys + kBlockPositions * dim + position * padded_dim(dim);
    for (std::int64_t d = 0; d < dim; ++d) to[d] = convert(value[d]);
    std::fill(to + dim, to + padded_dim(dim), Number{0});
  }

  void store_bytes(std::byte* block, std::int64_t position, const float* key, const float* value,
                   std::int8_t* codes) const {
    const std::int64_t dim = step_.head_dim, width = width_;
    std::int32_t sum;
    auto* key_scales = reinterpret_cast<float*>(block + layout_.key_scales());
    kernels_.quantize(key, dim, width, codes, key_scales + position, &sum);
    std::byte* keys = block + position / 16 * 16 * width + position % 16 * 4;
    for (std::int64_t d = 0; d < width; ++d) {
      keys[d / 4 * 64 + d % 4] = static_cast<std::byte>(codes[d] + 128);
    }
    auto* value_scales = reinterpret_cast<float*>(block + layout_.value_scales());
    kernels_.quantize(value, dim, width, codes, value_scales + position, &sum);
    std::byte* values = block + layout_.values() + position / 2 * 2 * width + position % 2;
    for (std::int64_t d = 0; d < width; ++d) {
      values[2 * d] = static_cast<std::byte>(codes[d]);
    }
  }

  const Kernels& kernels_;
  const NativeStep& step_;
  const AttentionRows& io_;
  const PlacedRows& rows_;
  CacheFormat format_;
  HeadBlock layout_;  // of one key/value head in a block of one layer
  std::int64_t width_, group_;
  std::int64_t layer_offset_, partial_floats_;
  std::int64_t partials_ = 0;     // of all rows
  std::vector<RowRange> ranges_;  // [rows]
  std::vector<Item> items_;
};

}  // namespace

void read_head(const HeadBlock& layout, CacheFormat format, std::int64_t dim,
               const std::byte* block, std::int64_t position, float* key, float* value) {
  const std::int64_t width = padded_dim(dim);
  const auto read = [&](const auto* numbers, auto to_float) {
    const auto* lanes = numbers + position / 16 * 16 * dim + position % 16;
    const auto* values = numbers + kBlockPositions * dim + position * width;
    for (std::int64_t d = 0; d < dim; ++d) {
      key[d] = to_float(lanes[16 * d]);
      value[d] = to_float(values[d]);
    }
  };
  if (format == CacheFormat::f32) {
    return read(reinterpret_cast<const float*>(block), [](float x) { return x; });
  }
  if (format == CacheFormat::f16) {
    return read(reinterpret_cast<const std::uint16_t*>(block), f16_to_f32);
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
  pool.parallel_for(io.count, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) attention.append(row);
  });
  // A thread takes neighbouring items of one head.
  pool.parallel_for(attention.items() * step.kv_heads, 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        attention.attend(i % attention.items(), i / attention.items(), memory);
                      }
                    });
  pool.parallel_for(io.count, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t head = 0; head < step.kv_heads; ++head) attention.merge(row, head, memory);
    }
  });
}

}  // namespace linnet
