// A program lowered for the native lane: fewer, larger steps over buffers. Norms are folded into
// the linears that read them, linears with the same input become one, the residual additions and
// the gated activation go into the epilogues, rotation into the attention.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernels.h"
#include "program/program.h"

namespace linnet {

enum class NativeOp : std::uint8_t {
  embed,             // -> output
  linear,            // input, with its norm -> output, by its epilogue
  attention,         // query, key, value -> output
  rms_norm,          // input -> output
  add,               // input, second -> output
  gated_activation,  // input, second -> output
  select_rows,       // input -> output
};

// A value: columns [offset, offset + width) of a buffer.
struct Place {
  std::int32_t buffer = kNone;
  std::int64_t offset = 0;
  std::int64_t width = 0;
};

struct NativeBuffer {
  RowCount rows = RowCount::all;
  std::int64_t width = 0;
  std::int32_t slot = kNone;  // of the memory plan: buffers that do not live together share one
};

struct Norm {
  WeightId weight = kNone;
  float epsilon = 0;
};

// One matrix to pack: the rows of one or several weights.
struct MatrixPlan {
  std::vector<WeightId> weights;
  std::vector<WeightId> biases;  // one for each weight, kNone where it has none
  std::int64_t inputs = 0;
  bool is_gate = false;   // two weights: 16 rows of the first, 16 of the second, and so on
  bool is_table = false;  // also the table of the embedding
  bool is_head = false;   // gives the program's output; as sensitive to rounding as the embedding
};

struct NativeStep {
  NativeOp op = NativeOp::embed;
  std::int32_t layer = kNone;
  std::int32_t hidden = kNone;  // index of the hidden state that `output` then is
  Place input, second, output;

  std::int32_t matrix = kNone;  // linear: index into matrices
  std::optional<Norm> norm;     // linear: of its input; rms_norm
  Epilogue epilogue = Epilogue::store;
  Activation activation = Activation::silu;

  Place query, key, value;  // attention
  std::int32_t rope = kNone;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  float scale = 1;
  std::int64_t window = 0;
};

struct SlotPlan {
  RowCount rows = RowCount::all;
  std::int64_t width = 0;
};

struct LoweredProgram {
  std::vector<NativeStep> steps;
  std::vector<NativeBuffer> buffers;
  std::vector<SlotPlan> slots;
  std::vector<MatrixPlan> matrices;
  WeightId table = kNone;             // of the embedding
  WeightId table_factors = kNone;     // of its columns
  std::int32_t table_matrix = kNone;  // the matrix that holds it, when the head is tied
  Place output;
};

// What could not be lowered, in words: "step 12 (rope): ...".
struct LoweringResult {
  LoweredProgram program;
  std::string reason;  // empty: lowered
  std::string key;     // the kind of step, "rope"
};
LoweringResult lower(const Program& program);

std::string_view native_op_name(NativeOp op);

// One line per step, for people.
std::string lowered_text(const LoweredProgram& lowered, const Program& program);

}  // namespace linnet
