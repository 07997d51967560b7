// A model as a program: a flat list of steps over numbered values. Everything else consumes this
// list (reference lane, native lowering, training, inspection); nothing re-describes the model.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/functions.h"
#include "tensor/tensor.h"

namespace linnet {

// The kinds of step. Inputs and weights of each, in order:
enum class Op : std::uint8_t {
  embed,      // ()             -> [rows, hidden]; weights: table [vocab, hidden], and factors
              //                   [hidden] of its columns or none
  rms_norm,   // (x)            -> like x; weights: scale [width]
  linear,     // (x)            -> [rows, out]; weights: matrix [out, in], bias [out] or none
  rope,       // (x)            -> like x: rotates every head by the row's position
  attention,  // (q, k, v)      -> [rows, heads * head_dim]; k and v join the cache first
  gated_activation,  // (gate, up)     -> activation(gate) * up
  add,               // (a, b)         -> a + b
  select_rows,       // (x)            -> [selected, width]: the rows the caller asked for
};

struct OpInfo {
  Op op;
  std::string_view name;
  int inputs;
  int weights;           // the last may be absent when optional_weight
  bool optional_weight;  // a bias, factors
};
const OpInfo& op_info(Op op);

using ValueId = std::int32_t;
using WeightId = std::int32_t;
inline constexpr std::int32_t kNone = -1;

// How many rows a value has is known only when a batch comes.
enum class RowCount : std::uint8_t { all, selected };

struct Value {
  std::string name;  // "layers.3.query"
  RowCount rows = RowCount::all;
  std::int64_t width = 0;
};

// A tensor the program needs. The name is the one in Hugging Face files, without "model.".
struct WeightSlot {
  std::string name;
  Shape shape;
};

// Rotary embedding (Su et al., "RoFormer"): head halves (i, i + head_dim/2) turn by
// position * inverse_frequency[i]; cos and sin are multiplied by attention_factor.
// Some rotations depend on how long a sequence is. The length counts per sequence, never per batch,
// and stays as it was first (KvCache::rope_length), since keys are stored rotated. Sequences beyond
// `limit` positions use long_inverse_frequency where given (longrope), else a base that grows with
// their length ("dynamic NTK": theta * (factor * length / limit - factor + 1)^(d / (d - 2))).
struct RopeTable {
  std::vector<double> inverse_frequency;  // [head_dim / 2]
  double attention_factor = 1.0;
  std::int64_t limit = 0;                      // 0: the same for every length
  std::vector<double> long_inverse_frequency;  // [head_dim / 2], or empty
  double theta = 0;
  double factor = 1;
};
// theta^(-2 i / head_dim), [head_dim / 2].
std::vector<double> plain_frequencies(double theta, std::int64_t head_dim);
// The table of sequences of `length` positions; it no longer depends on a length.
RopeTable rope_table_for(const RopeTable& table, std::int64_t length);
// cos and sin of every pair at `position`, [head_dim / 2] each: angles in f64, rounded once to f32.
void rotation(const RopeTable& table, std::int64_t position, float* cosine, float* sine);
// Turns one head: out[i] and out[i + half] from x[i] and x[i + half].
void rotate_head(const float* x, const float* cosine, const float* sine, std::int64_t half,
                 float* out);

// Only the fields of the step's own kind have a meaning.
struct Step {
  Op op = Op::add;
  std::int32_t layer = kNone;
  std::vector<ValueId> inputs;
  ValueId output = kNone;
  std::array<WeightId, 2> weights = {kNone, kNone};

  float epsilon = 0;                         // rms_norm
  Activation activation = Activation::silu;  // gated_activation
  std::int32_t rope = 0;                     // rope: index into Program::ropes
  std::int64_t heads = 0;                    // rope, attention: heads of the (first) input
  std::int64_t kv_heads = 0;                 // attention
  std::int64_t head_dim = 0;                 // rope, attention
  float scale = 1;                           // attention: scores are multiplied by it
  std::int64_t window = 0;                   // attention: keys seen, this row's among them; 0: all
};

struct Program {
  std::vector<Value> values;
  std::vector<WeightSlot> weights;
  std::vector<RopeTable> ropes;
  std::vector<Step> steps;
  ValueId output = kNone;
  // The embedding's output, then each layer's; last the normed output of the last layer.
  std::vector<ValueId> hidden_states;  // [layers + 2]
  std::int64_t vocab = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;    // attention steps, each with a cache of its own
  std::int64_t kv_width = 0;  // kv_heads * head_dim
  std::int64_t heads = 0;

  ValueId add_value(std::string name, std::int64_t width, RowCount rows = RowCount::all);
  WeightId add_weight(std::string name, Shape shape);
};

// Whether sequences of these lengths are rotated alike by all of the program's tables.
bool same_rotations(const Program& program, std::int64_t length, std::int64_t other);

// Every value is written once, before it is read; widths and weight shapes fit. A fault is a bug.
void check_program(const Program& program);

// One line per step, for people: "12 linear  layers.0.query = layers.0.normed x ...".
std::string program_text(const Program& program);

// Multiplications of weights per row (attention over the context not counted).
std::int64_t multiplications_per_row(const Program& program);

}  // namespace linnet
