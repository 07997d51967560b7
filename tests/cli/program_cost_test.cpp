#include "cli/program_cost.h"

#include <doctest/doctest.h>

#include <string>

#include "model/build_program.h"

namespace linnet {
namespace {

Program small_program() {
  const Json json = Json::parse(
      R"({"model_type": "smollm3", "vocab_size": 100, "hidden_size": 16, "intermediate_size": 24,
          "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
          "max_position_embeddings": 64, "rope_theta": 10000.0})",
      "config.json");
  return build_program(ModelConfig::from_json(json, "config.json"));
}

}  // namespace

TEST_CASE("operations and bytes of a token") {
  const Program program = small_program();
  const auto at = [&](std::int64_t context, DType dtype = DType::bf16) {
    return total_cost(program_costs(program, ModelFiles{}, dtype, context));
  };
  // Each further position is scored (4 heads of 4, two operations an element), weighed by the
  // softmax (3 a head) and mixed, in each of four layers; its keys and values are 2 * 2 * 4 floats.
  CHECK(at(11).operations - at(10).operations == 4 * 4 * (2 * 4 + 3 + 2 * 4));
  CHECK(at(11).cache_bytes - at(10).cache_bytes == 4 * 2 * 2 * 4 * 4);
  CHECK(at(11).weight_bytes == at(10).weight_bytes);
  CHECK(at(1, DType::f32).weight_bytes == 2 * at(1).weight_bytes);

  std::uint64_t bytes = 0;
  for (const WeightSlot& slot : program.weights)
    bytes += tensor_bytes(DType::bf16, slot.shape, "w");
  // The tied table is read whole as the output matrix, and one row of it as the embedding.
  CHECK(at(1).weight_bytes == bytes + 16 * 2);
  CHECK(at(1).operations > static_cast<std::uint64_t>(2 * multiplications_per_row(program)));
}

TEST_CASE("a window bounds what attention reads") {
  Program program = small_program();
  for (Step& step : program.steps) {
    if (step.op == Op::attention) step.window = 8;
  }
  const auto cache = [&](std::int64_t context) {
    return total_cost(program_costs(program, ModelFiles{}, DType::f32, context)).cache_bytes;
  };
  CHECK(cache(8) == cache(60));
  CHECK(cache(7) < cache(8));
}

}  // namespace linnet
