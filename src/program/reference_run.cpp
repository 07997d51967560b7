#include "program/reference_run.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace linnet {
namespace {

// Outputs of a linear step per piece of work: few enough to share out, enough to be one stream.
constexpr std::int64_t kStrip = 16;

// One piece of a linear step: `count` outputs from `first` on, for all rows.
class LinearStrip {
 public:
  LinearStrip(const Tensor& matrix, std::int64_t first, std::int64_t count)
      : width_(matrix.dim(1)), first_(first), count_(count) {
    const auto* bytes = matrix.bytes().data() + first * matrix.row_bytes();
    if (matrix.dtype() == DType::f32 &&
        reinterpret_cast<std::uintptr_t>(bytes) % alignof(float) == 0) {
      rows_ = reinterpret_cast<const float*>(bytes);
      return;
    }
    decoded_.resize(static_cast<std::size_t>(count * width_));
    for (std::int64_t i = 0; i < count; ++i)
      matrix.decode_row(first + i, &decoded_[static_cast<std::size_t>(i * width_)]);
    rows_ = decoded_.data();
  }

  // out[row][first + i] = weights row (first + i) . x[row] + bias[first + i]
  void multiply(const float* x, std::int64_t row_count, const float* bias, float* out,
                std::int64_t out_width) const {
    // Four weight rows stay in L1 while all rows pass.
    for (std::int64_t i = 0; i < count_; i += 4) {
      const std::int64_t weights = std::min<std::int64_t>(4, count_ - i);
      for (std::int64_t row = 0; row < row_count; row += 2) {
        const DotTile tile{rows_ + i * width_,
                           weights,
                           x + row * width_,
                           std::min<std::int64_t>(2, row_count - row),
                           width_,
                           width_};
        dot_tile(tile, out + row * out_width + first_ + i, out_width);
      }
    }
    if (bias == nullptr) return;
    for (std::int64_t row = 0; row < row_count; ++row) {
      for (std::int64_t i = 0; i < count_; ++i)
        out[row * out_width + first_ + i] += bias[first_ + i];
    }
  }

 private:
  std::int64_t width_;
  std::int64_t first_;
  std::int64_t count_;
  const float* rows_ = nullptr;
  std::vector<float> decoded_;
};

}  // namespace

ReferenceRun::ReferenceRun(const Program& program, const std::vector<Tensor>& weights,
                           ThreadPool& pool, const Batch& batch, const RunOptions& options)
    : program_(program),
      weights_(weights),
      pool_(pool),
      batch_(batch),
      options_(options),
      rows_(program, batch),
      values_(program.values.size()) {}

void ReferenceRun::execute(const Step& step) {
  allocate(step.output);
  switch (step.op) {
    case Op::embed:
      embed(step);
      break;
    case Op::rms_norm:
      rms_norm(step);
      break;
    case Op::linear:
      if (options_.on_output_input && step.output == program_.output) {
        options_.on_output_input(value(step.inputs[0]));
      }
      linear(step);
      break;
    case Op::rope:
      rope(step);
      break;
    case Op::attention:
      attention(step);
      break;
    case Op::gated_activation:
      gated_activation(step);
      break;
    case Op::add:
      add(step);
      break;
    case Op::select_rows:
      select_rows(step);
      break;
  }
  if (options_.on_hidden) tell_hidden(step.output);
  if (options_.on_value) options_.on_value(step, value(step.output), width(step.output));
}

void ReferenceRun::tell_hidden(ValueId id) {
  for (std::size_t i = 0; i + 1 < program_.hidden_states.size(); ++i) {
    if (program_.hidden_states[i] == id) options_.on_hidden(i, value(id));
  }
}

std::span<float> ReferenceRun::value(ValueId id) {
  Buffer& buffer = values_[static_cast<std::size_t>(id)];
  return buffer.as<float>().first(static_cast<std::size_t>(row_count(id) * width(id)));
}

void ReferenceRun::release(ValueId id) {
  free_.push_back(std::move(values_[static_cast<std::size_t>(id)]));
}

std::int64_t ReferenceRun::row_count(ValueId id) const {
  const bool all = program_.values[static_cast<std::size_t>(id)].rows == RowCount::all;
  return all ? batch_.rows() : static_cast<std::int64_t>(batch_.selected.size());
}

const Tensor& ReferenceRun::weight(const Step& step, int i) const {
  return weights_[static_cast<std::size_t>(step.weights[static_cast<std::size_t>(i)])];
}

void ReferenceRun::allocate(ValueId id) {
  const auto bytes = static_cast<std::uint64_t>(row_count(id) * width(id)) * sizeof(float);
  // The smallest free buffer that is large enough.
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->size() >= bytes && (best == free_.end() || it->size() < best->size())) best = it;
  }
  if (best != free_.end()) {
    values_[static_cast<std::size_t>(id)] = std::move(*best);
    free_.erase(best);
  } else {
    values_[static_cast<std::size_t>(id)] = Buffer(bytes, MemoryAccount::scratch());
  }
}

void ReferenceRun::embed(const Step& step) {
  const std::span<float> out = value(step.output);
  if (!batch_.embeddings.empty()) {
    std::copy(batch_.embeddings.begin(), batch_.embeddings.end(), out.begin());
    return;
  }
  const Tensor& table = weight(step, 0);
  const std::int64_t hidden = width(step.output);
  for (std::int64_t row = 0; row < batch_.rows(); ++row) {
    table.decode_row(batch_.tokens[static_cast<std::size_t>(row)], out.data() + row * hidden);
  }
  if (step.weights[1] == kNone) return;
  const std::vector<float> factors = weight(step, 1).to_floats();
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] *= factors[i % static_cast<std::size_t>(hidden)];
  }
}

void ReferenceRun::rms_norm(const Step& step) {
  const float* x = value(step.inputs[0]).data();
  float* out = value(step.output).data();
  const std::int64_t columns = width(step.output);
  const std::vector<float> scale = weight(step, 0).to_floats();
  pool_.parallel_for(row_count(step.output), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      linnet::rms_norm(x + row * columns, scale.data(), step.epsilon, out + row * columns, columns);
    }
  });
}

void ReferenceRun::linear(const Step& step) {
  const Tensor& matrix = weight(step, 0);
  std::vector<float> bias;
  if (step.weights[1] != kNone) bias = weight(step, 1).to_floats();
  const float* x = value(step.inputs[0]).data();
  float* out = value(step.output).data();
  const std::int64_t rows = row_count(step.output);
  const std::int64_t outputs = width(step.output);
  pool_.parallel_for(outputs, kStrip, [&](std::int64_t begin, std::int64_t end) {
    // A loop that was not shared out comes as one piece; strips bound its decoded rows.
    for (std::int64_t first = begin; first < end; first += kStrip) {
      const LinearStrip strip(matrix, first, std::min(kStrip, end - first));
      strip.multiply(x, rows, bias.empty() ? nullptr : bias.data(), out, outputs);
    }
  });
}

void ReferenceRun::rope(const Step& step) {
  const float* x = value(step.inputs[0]).data();
  float* out = value(step.output).data();
  pool_.parallel_for(batch_.rows(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t head = 0; head < step.heads; ++head) {
        const std::int64_t offset = (row * step.heads + head) * step.head_dim;
        rotate_head(x + offset, rows_.cosine(step.rope, row), rows_.sine(step.rope, row),
                    step.head_dim / 2, out + offset);
      }
    }
  });
}

void ReferenceRun::attention(const Step& step) {
  append_to_cache(step);
  // One piece: one row and one key/value head with all its query heads.
  pool_.parallel_for(batch_.rows() * step.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> scores;
    for (std::int64_t i = begin; i < end; ++i)
      attend(step, i / step.kv_heads, i % step.kv_heads, scores);
  });
}

void ReferenceRun::append_to_cache(const Step& step) {
  const float* key = value(step.inputs[1]).data();
  const float* val = value(step.inputs[2]).data();
  const std::int64_t kv_width = program_.kv_width;
  const auto bytes = static_cast<std::size_t>(kv_width) * sizeof(float);
  for (std::int64_t row = 0; row < batch_.rows(); ++row) {
    const PlacedRows::Row& place = rows_.row(row);
    std::memcpy(place.cache->key(step.layer, place.index), key + row * kv_width, bytes);
    std::memcpy(place.cache->value(step.layer, place.index), val + row * kv_width, bytes);
  }
}

void ReferenceRun::attend(const Step& step, std::int64_t row, std::int64_t kv_head,
                          std::vector<float>& scores) {
  const PlacedRows::Row& place = rows_.row(row);
  const std::int64_t context = place.index + 1;
  const std::int64_t first = rows_.first_position(row, step.window);
  const std::int64_t group = step.heads / step.kv_heads, dim = step.head_dim;
  for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    const float* query = value(step.inputs[0]).data() + (row * step.heads + head) * dim;
    float* out = value(step.output).data() + (row * step.heads + head) * dim;
    scores.assign(static_cast<std::size_t>(context), 0.0f);
    for (std::int64_t i = first; i < context; ++i) {
      scores[static_cast<std::size_t>(i)] =
          dot(query, place.cache->key(step.layer, i) + kv_head * dim, dim) * step.scale;
    }
    softmax(scores.data() + first, context - first);
    if (options_.on_attention) options_.on_attention(step, row, head, scores);
    const float factor =
        batch_.head_mask.empty()
            ? 1.0f
            : batch_.head_mask[static_cast<std::size_t>(step.layer * step.heads + head)];
    std::fill(out, out + dim, 0.0f);
    for (std::int64_t i = first; i < context; ++i) {
      const float p = scores[static_cast<std::size_t>(i)] * factor;
      const float* source = place.cache->value(step.layer, i) + kv_head * dim;
      for (std::int64_t d = 0; d < dim; ++d) out[d] += p * source[d];
    }
  }
}

void ReferenceRun::gated_activation(const Step& step) {
  const float* gate = value(step.inputs[0]).data();
  const float* up = value(step.inputs[1]).data();
  float* out = value(step.output).data();
  pool_.parallel_for(static_cast<std::int64_t>(value(step.output).size()), 4096,
                     [&](std::int64_t begin, std::int64_t end) {
                       linnet::gated_activation(step.activation, gate + begin, up + begin,
                                                out + begin, end - begin);
                     });
}

void ReferenceRun::add(const Step& step) {
  const float* a = value(step.inputs[0]).data();
  const float* b = value(step.inputs[1]).data();
  const std::span<float> out = value(step.output);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] + b[i];
}

void ReferenceRun::select_rows(const Step& step) {
  const float* x = value(step.inputs[0]).data();
  const std::span<float> out = value(step.output);
  const std::int64_t columns = width(step.output);
  for (std::size_t i = 0; i < batch_.selected.size(); ++i) {
    std::copy_n(x + batch_.selected[i] * columns, columns,
                out.data() + static_cast<std::int64_t>(i) * columns);
  }
}

}  // namespace linnet
