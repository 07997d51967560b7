#include "model/build_program.h"

#include <cmath>
#include <string>

#include "model/rope.h"

namespace linnet {
namespace {

class Builder {
 public:
  explicit Builder(const ModelConfig& config) : config_(config) {
    program_.vocab = config.vocab;
    program_.hidden = config.hidden;
    program_.layers = config.layers;
    program_.heads = config.heads;
    program_.kv_width = config.kv_heads * config.head_dim;
    program_.ropes.push_back(make_rope_table(config));
  }

  Program build() {
    const WeightId table =
        program_.add_weight("embed_tokens.weight", {config_.vocab, config_.hidden});
    Step embed{.op = Op::embed, .weights = {table, kNone}};
    if (config_.embedding_factors) {
      embed.weights[1] = program_.add_weight("embed_tokens.factors", {config_.hidden});
    }
    ValueId x = emit(embed, "embedding", config_.hidden);
    program_.hidden_states.push_back(x);
    for (layer_ = 0; layer_ < config_.layers; ++layer_) {
      prefix_ = "layers." + std::to_string(layer_) + ".";
      x = add("attended", x, attention_block(x));
      x = add("output", x, feed_forward_block(x));
      program_.hidden_states.push_back(x);
    }
    layer_ = kNone;
    prefix_.clear();
    x = rms_norm("normed", x, "norm.weight");
    program_.hidden_states.push_back(x);
    const Step select{.op = Op::select_rows, .inputs = {x}};
    x = emit(select, "selected", config_.hidden, RowCount::selected);
    program_.output = task_head(x, table);
    check_program(program_);
    return std::move(program_);
  }

 private:
  ValueId attention_block(ValueId x) {  // [rows, hidden] -> [rows, hidden]
    const bool bias = config_.attention_bias;
    const std::int64_t query_width = config_.heads * config_.head_dim;
    const ValueId normed = rms_norm("attention_input", x, "input_layernorm.weight");
    ValueId query = linear("query", normed, "self_attn.q_proj", query_width, bias);
    ValueId key = linear("key", normed, "self_attn.k_proj", program_.kv_width, bias);
    const ValueId value = linear("value", normed, "self_attn.v_proj", program_.kv_width, bias);
    if (config_.layer_has_rope[static_cast<std::size_t>(layer_)]) {
      query = rope("rotated_query", query, config_.heads);
      key = rope("rotated_key", key, config_.kv_heads);
    }
    Step step{.op = Op::attention, .inputs = {query, key, value}};
    step.heads = config_.heads;
    step.kv_heads = config_.kv_heads;
    step.head_dim = config_.head_dim;
    step.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config_.head_dim)));
    step.window = config_.layer_window[static_cast<std::size_t>(layer_)];
    const ValueId mixed = emit(step, "attention", query_width);
    return linear("attention_output", mixed, "self_attn.o_proj", config_.hidden, bias);
  }

  ValueId feed_forward_block(ValueId x) {  // [rows, hidden] -> [rows, hidden]
    const bool bias = config_.mlp_bias;
    const ValueId normed = rms_norm("ffn_input", x, "post_attention_layernorm.weight");
    const ValueId gate = linear("gate", normed, "mlp.gate_proj", config_.ffn, bias);
    const ValueId up = linear("up", normed, "mlp.up_proj", config_.ffn, bias);
    Step step{.op = Op::gated_activation, .inputs = {gate, up}};
    step.activation = config_.activation;
    const ValueId gated = emit(step, "gated", config_.ffn);
    return linear("ffn_output", gated, "mlp.down_proj", config_.hidden, bias);
  }

  // [selected, hidden] -> [selected, what the head gives]
  ValueId task_head(ValueId x, WeightId table) {
    const auto labels = static_cast<std::int64_t>(config_.labels.size());
    switch (config_.task_head) {
      case TaskHead::none:
        return x;
      case TaskHead::causal_lm:
        if (config_.tied_head) return tied_logits(x, table);
        return linear("logits", x, "lm_head", config_.vocab, false);
      case TaskHead::sequence_classification:
        return linear("logits", x, "score", labels, false);
      case TaskHead::token_classification:
        return linear("logits", x, "score", labels, true);
      case TaskHead::question_answering:
        return linear("logits", x, "qa_outputs", 2, true);
    }
    return x;
  }

  ValueId tied_logits(ValueId x, WeightId table) {
    const Step step{.op = Op::linear, .inputs = {x}, .weights = {table, kNone}};
    return emit(step, "logits", config_.vocab, RowCount::selected);
  }

  ValueId rms_norm(const std::string& name, ValueId x, const std::string& weight) {
    Step step{.op = Op::rms_norm, .inputs = {x}};
    step.weights[0] = program_.add_weight(prefix_ + weight, {config_.hidden});
    step.epsilon = config_.epsilon;
    return emit(step, name, config_.hidden);
  }

  ValueId linear(const std::string& name, ValueId x, const std::string& weight, std::int64_t width,
                 bool bias) {
    const Value input = program_.values[static_cast<std::size_t>(x)];
    Step step{.op = Op::linear, .inputs = {x}};
    step.weights[0] = program_.add_weight(prefix_ + weight + ".weight", {width, input.width});
    if (bias) step.weights[1] = program_.add_weight(prefix_ + weight + ".bias", {width});
    return emit(step, name, width, input.rows);
  }

  ValueId rope(const std::string& name, ValueId x, std::int64_t heads) {
    Step step{.op = Op::rope, .inputs = {x}};
    step.heads = heads;
    step.head_dim = config_.head_dim;
    return emit(step, name, heads * config_.head_dim);
  }

  ValueId add(const std::string& name, ValueId a, ValueId b) {
    return emit({.op = Op::add, .inputs = {a, b}}, name, config_.hidden);
  }

  ValueId emit(Step step, const std::string& name, std::int64_t width,
               RowCount rows = RowCount::all) {
    step.layer = layer_;
    step.output = program_.add_value(prefix_ + name, width, rows);
    program_.steps.push_back(std::move(step));
    return program_.steps.back().output;
  }

  const ModelConfig& config_;
  Program program_;
  std::int32_t layer_ = kNone;
  std::string prefix_;
};

}  // namespace

Program build_program(const ModelConfig& config) { return Builder(config).build(); }

bool is_head_weight(std::string_view slot_name) {
  return slot_name.starts_with("lm_head.") || slot_name.starts_with("score.") ||
         slot_name.starts_with("qa_outputs.");
}

}  // namespace linnet
