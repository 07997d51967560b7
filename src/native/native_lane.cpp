#include "native/native_lane.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/telemetry.h"
#include "kernels/matrix_format_text.h"
#include "native/attention.h"
#include "native/replay.h"

namespace linnet {
namespace {

constexpr std::int64_t kHalfStrip = kStripOutputs / 2;

std::int64_t joined_rows(const MatrixPlan& plan, const Program& program) {
  std::int64_t rows = 0;
  for (const WeightId id : plan.weights) {
    rows += program.weights[static_cast<std::size_t>(id)].shape[0];
  }
  return rows;
}

// The rows of all weights of a plan, one weight after the other; of a gate in turns of sixteen.
std::vector<std::int64_t> strip_order(const MatrixPlan& plan, const Program& program) {
  const std::int64_t total = joined_rows(plan, program);
  std::vector<std::int64_t> order;
  if (!plan.is_gate) {
    for (std::int64_t row = 0; row < total; ++row) order.push_back(row);
    return order;
  }
  const std::int64_t half = total / 2;
  for (std::int64_t first = 0; first < half; first += kHalfStrip) {
    for (const std::int64_t base : {std::int64_t{0}, half}) {
      for (std::int64_t i = 0; i < kHalfStrip; ++i) {
        order.push_back(first + i < half ? base + first + i : -1);
      }
    }
  }
  return order;
}

// Which weight a row of the joined matrix belongs to, and where there.
class JoinedRows final : public RowSource {
 public:
  JoinedRows(const MatrixPlan& plan, const std::vector<Tensor>& weights) {
    for (const WeightId id : plan.weights) parts_.push_back(&weights[static_cast<std::size_t>(id)]);
  }
  explicit JoinedRows(const Tensor& only) : parts_{&only} {}
  void decode_row(std::int64_t row, float* out) const override {
    const Source source = find(row);
    source.part->decode_row(source.row, out);
  }
  bool read_i8(std::int64_t row, I8Row& out) const override {
    return read([&](const CodedRows& rows, std::int64_t own) { return rows.read_i8(own, out); },
                row);
  }
  bool read_n4(std::int64_t row, N4Row& out) const override {
    return read([&](const CodedRows& rows, std::int64_t own) { return rows.read_n4(own, out); },
                row);
  }
  bool read_s6(std::int64_t row, S6Row& out) const override {
    return read([&](const CodedRows& rows, std::int64_t own) { return rows.read_s6(own, out); },
                row);
  }
  bool read_float_codes(std::int64_t row, FloatCode code, FloatCodeRow& out) const override {
    return read([&](const CodedRows& rows,
                    std::int64_t own) { return rows.read_float_codes(own, code, out); },
                row);
  }
  bool read_grouped(std::int64_t row, const GroupedFormat& format, GroupedRow& out) const override {
    const Source source = find(row);
    if (const CodedRows* rows = source.part->coded_rows()) {
      return rows->read_grouped(source.row, format, out);
    }
    const DType dtype = source.part->dtype();
    const auto own = grouped_format(dtype);
    if (!own) return false;
    linnet::read_grouped(dtype, source.part->bytes().data() + source.row * source.part->row_bytes(),
                         source.part->dim(-1), out);
    bring_to(*own, format, out);
    return true;
  }

 private:
  struct Source {
    const Tensor* part;
    std::int64_t row;
  };
  Source find(std::int64_t row) const {
    for (const Tensor* part : parts_) {
      if (row < part->dim(0)) return {part, row};
      row -= part->dim(0);
    }
    LINNET_CHECK(false, "a row behind the last weight");
    return {};
  }
  template <typename Read>
  bool read(Read read_own, std::int64_t row) const {
    const Source source = find(row);
    const CodedRows* rows = source.part->coded_rows();
    return rows != nullptr && read_own(*rows, source.row);
  }
  std::vector<const Tensor*> parts_;
};

bool has_bias(const MatrixPlan& plan) {
  return std::any_of(plan.biases.begin(), plan.biases.end(),
                     [](WeightId id) { return id != kNone; });
}

std::vector<float> joined_bias(const MatrixPlan& plan, const Program& program,
                               const std::vector<Tensor>& weights) {
  std::vector<float> joined;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    std::vector<float> part(static_cast<std::size_t>(
        program.weights[static_cast<std::size_t>(plan.weights[i])].shape[0]));
    if (plan.biases[i] != kNone) {
      part = weights[static_cast<std::size_t>(plan.biases[i])].to_floats();
    }
    joined.insert(joined.end(), part.begin(), part.end());
  }
  return joined;
}

std::int64_t result_width(const MatrixPlan& plan, const Program& program) {
  const std::int64_t total = joined_rows(plan, program);
  return plan.is_gate ? total / 2 : total;
}

// The weights of norms and the factors of the embedding, each once.
std::set<std::size_t> vector_weights(const LoweredProgram& lowered) {
  std::set<std::size_t> ids;
  if (lowered.table_factors != kNone) ids.insert(static_cast<std::size_t>(lowered.table_factors));
  for (const NativeStep& step : lowered.steps) {
    if (step.norm) ids.insert(static_cast<std::size_t>(step.norm->weight));
  }
  return ids;
}

// Whether the embedding's table is in no matrix.
bool has_own_table(const LoweredProgram& lowered) {
  return lowered.table != kNone && lowered.table_matrix == kNone;
}

// The names of the parts of a packed model: those of the weights in them.
std::string part_name(const MatrixPlan& plan, const Program& program) {
  std::string name;
  for (const WeightId id : plan.weights) {
    name += (name.empty() ? "" : " | ") + program.weights[static_cast<std::size_t>(id)].name;
  }
  return plan.is_gate ? name + " (gate)" : name;
}
std::string bias_name(const MatrixPlan& plan, const Program& program) {
  return part_name(plan, program) + " (bias)";
}
std::string table_name(const LoweredProgram& lowered, const Program& program) {
  return program.weights[static_cast<std::size_t>(lowered.table)].name + " (table)";
}

// The smallest packed format that keeps every value.
PackedFormat exact_format(const Tensor& tensor) {
  if (tensor.dtype() == DType::bf16) return PackedFormat::bf16;
  for (const PackedFormat format : kPackedFormats) {
    const CodedRows* rows = tensor.coded_rows();
    if (rows != nullptr && rows->format() == packed_format_name(format)) return format;
  }
  return PackedFormat::f32;
}

MatrixFormat format_of(const MatrixPlan& plan, const NativeOptions& options) {
  const auto& wanted = plan.is_head ? options.head : options.weights;
  if (wanted) return *wanted;
  if (options.stored.empty()) return PackedFormat::f32;
  MatrixFormat format = options.stored[static_cast<std::size_t>(plan.weights.front())];
  for (const WeightId id : plan.weights) {
    format = joined_format(format, options.stored[static_cast<std::size_t>(id)]);
  }
  return format;
}

// Steps that have a fused form and could not take it.
void tell_unfused(const LoweredProgram& lowered) {
  Telemetry& bus = Telemetry::instance();
  if (!bus.active()) return;
  for (const NativeStep& step : lowered.steps) {
    const bool is_norm = step.op == NativeOp::rms_norm;
    if (!is_norm && step.op != NativeOp::add && step.op != NativeOp::gated_activation) continue;
    Json metadata = Json::object();
    metadata.set("struct", native_op_name(step.op)).set("args_count", is_norm ? 1 : 2);
    bus.emit("block.fallback", Json::object(), std::move(metadata));
  }
}

}  // namespace

NativeMemory native_memory(const LoweredProgram& lowered, const Program& program,
                           const NativeOptions& options) {
  NativeMemory memory;
  for (const MatrixPlan& plan : lowered.matrices) {
    const auto rows = static_cast<std::int64_t>(strip_order(plan, program).size());
    const MatrixFormat format = format_of(plan, options);
    memory.weights += packed_shape(format, rows, plan.inputs).bytes();
    auto& formats = memory.formats;
    if (std::find(formats.begin(), formats.end(), format.kind) == formats.end()) {
      formats.push_back(format.kind);
    }
  }
  for (const NativeStep& step : lowered.steps) {
    if (step.op != NativeOp::attention) continue;
    memory.cache_block += step.kv_heads * HeadBlock(options.cache, step.head_dim).bytes();
  }
  return memory;
}

NativeLane::NativeLane(std::shared_ptr<const Program> program, std::shared_ptr<ThreadPool> pool,
                       const NativeOptions& options)
    : program_(std::move(program)),
      pool_(std::move(pool)),
      kernels_(options.kernels ? options.kernels : &choose_kernels()),
      cache_format_(options.cache),
      vectors_(program_->weights.size()) {
  LoweringResult result = lower(*program_);
  if (!result.reason.empty()) {
    fail(ErrorCode::unsupported, "the native lane cannot run this model: " + result.reason);
  }
  lowered_ = std::move(result.program);
  tell_unfused(lowered_);
  block_bytes_ = native_memory(lowered_, *program_, options).cache_block;
}

NativeLane::NativeLane(std::shared_ptr<const Program> program, const std::vector<Tensor>& weights,
                       std::shared_ptr<ThreadPool> pool, const NativeOptions& options)
    : NativeLane(std::move(program), std::move(pool), options) {
  LINNET_CHECK(weights.size() == program_->weights.size());
  for (const std::size_t id : vector_weights(lowered_)) vectors_[id] = weights[id].to_floats();
  for (const MatrixPlan& plan : lowered_.matrices) {
    matrices_.push_back(pack(plan, format_of(plan, options), weights));
  }
  if (has_own_table(lowered_)) table_ = weights[static_cast<std::size_t>(lowered_.table)];
}

NativeLane::NativeLane(std::shared_ptr<const Program> program, const PackedModel& packed,
                       std::shared_ptr<ThreadPool> pool, const NativeOptions& options)
    : NativeLane(std::move(program), std::move(pool), options) {
  packed.verify(*pool_);
  for (const std::size_t id : vector_weights(lowered_)) {
    const WeightSlot& slot = program_->weights[id];
    vectors_[id] = packed.vector(slot.name, element_count(slot.shape, slot.name));
  }
  for (const MatrixPlan& plan : lowered_.matrices) {
    const std::string name = part_name(plan, *program_);
    const auto rows = static_cast<std::int64_t>(strip_order(plan, *program_).size());
    Matrix matrix;
    matrix.packed = packed.matrix(name, rows, plan.inputs);
    if (has_bias(plan))
      matrix.bias = packed.vector(bias_name(plan, *program_), matrix.packed.shape().outputs);
    matrix.outputs = result_width(plan, *program_);
    matrices_.push_back(std::move(matrix));
  }
  if (has_own_table(lowered_)) {
    packed_table_ =
        packed.matrix(table_name(lowered_, *program_), program_->vocab, program_->hidden);
  }
}

std::vector<PackedPart> NativeLane::parts() const {
  std::vector<PackedPart> parts;
  const auto add_vector = [&](std::string name, const std::vector<float>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    parts.push_back({std::move(name), "vector", count, 1, std::as_bytes(std::span(values))});
  };
  const auto add_matrix = [&](std::string name, std::int64_t outputs, std::int64_t inputs,
                              const PackedMatrix& matrix) {
    parts.push_back({std::move(name), matrix_format_text(matrix.shape().matrix_format()), outputs,
                     inputs, matrix.bytes(), matrix.owner()});
  };
  for (const std::size_t id : vector_weights(lowered_)) {
    add_vector(program_->weights[id].name, vectors_[id]);
  }
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const MatrixPlan& plan = lowered_.matrices[i];
    const std::string name = part_name(plan, *program_);
    const auto rows = static_cast<std::int64_t>(strip_order(plan, *program_).size());
    add_matrix(name, rows, plan.inputs, matrices_[i].packed);
    if (has_bias(plan)) add_vector(bias_name(plan, *program_), matrices_[i].bias);
  }
  if (has_own_table(lowered_)) {
    add_matrix(table_name(lowered_, *program_), program_->vocab, program_->hidden, own_table());
  }
  return parts;
}

PackedMatrix NativeLane::own_table() const {
  if (packed_table_.strips() != nullptr) return packed_table_;
  std::vector<std::int64_t> order(static_cast<std::size_t>(table_.rows()));
  std::iota(order.begin(), order.end(), 0);
  return PackedMatrix::pack(exact_format(table_), order, table_.dim(-1), JoinedRows(table_),
                            *pool_);
}

NativeLane::~NativeLane() = default;

NativeLane::Matrix NativeLane::pack(const MatrixPlan& plan, const MatrixFormat& format,
                                    const std::vector<Tensor>& weights) {
  Matrix matrix;
  const std::vector<std::int64_t> order = strip_order(plan, *program_);
  const JoinedRows rows(plan, weights);
  matrix.packed = PackedMatrix::pack(format, order, plan.inputs, rows, *pool_);
  if (has_bias(plan)) {
    const std::vector<float> bias = joined_bias(plan, *program_, weights);
    matrix.bias.resize(static_cast<std::size_t>(matrix.packed.shape().outputs));
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] >= 0) matrix.bias[i] = bias[static_cast<std::size_t>(order[i])];
    }
  }
  matrix.outputs = result_width(plan, *program_);
  return matrix;
}

void NativeLane::read_cache(KvCache& cache, std::int64_t layer, std::int64_t position, float* keys,
                            float* values) const {
  for (const NativeStep& step : lowered_.steps) {
    if (step.op != NativeOp::attention || step.layer != layer) continue;
    const HeadBlock layout(cache_format_, step.head_dim);
    for (std::int64_t head = 0; head < step.kv_heads; ++head) {
      const std::byte* block =
          cache.block(position / kBlockPositions) + (layer * step.kv_heads + head) * layout.bytes();
      read_head(layout, cache_format_, step.head_dim, block, position % kBlockPositions,
                keys + head * step.head_dim, values + head * step.head_dim);
    }
  }
}

void NativeLane::embed(std::int32_t id, float* out) const {
  if (lowered_.table_matrix != kNone) {
    const Matrix& matrix = matrices_[static_cast<std::size_t>(lowered_.table_matrix)];
    matrix.packed.decode_output(id, program_->hidden, out);
  } else if (table_.empty()) {
    packed_table_.decode_output(id, program_->hidden, out);
  } else {
    table_.decode_row(id, out);
  }
  if (lowered_.table_factors == kNone) return;
  const std::vector<float>& factors = vector(lowered_.table_factors);
  for (std::size_t i = 0; i < factors.size(); ++i) out[i] *= factors[i];
}

std::vector<float> NativeLane::run_rows(const Batch& batch, const RunOptions& options) const {
  if (const std::string_view part = unsupported_part(batch, options); !part.empty()) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: only the reference lane has that, so use --lane reference", part));
  }
  for (const SequenceRows& sequence : batch.sequences) sequence.cache->reserve(sequence.rows);
  std::unique_ptr<Workspace> workspace = workspaces_.take();
  std::vector<float> output = replay(*this, batch, options, *workspace);
  workspaces_.give_back(std::move(workspace));
  return output;
}

void Workspace::set_cached(bool cached) {
  for (Buffer& slot : slots) slot.set_cached(cached);
  units.set_cached(cached);
  partials.set_cached(cached);
}

std::string_view unsupported_part(const Batch& batch, const RunOptions& options) {
  if (!batch.head_mask.empty()) return "head_mask";
  if (options.on_value) return "hidden_states";
  return options.on_attention ? "attentions" : std::string_view();
}

}  // namespace linnet
