// Models of GGUF blocks: the native lane keeps their codes and scales as they are.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "engine/lanes.h"
#include "engine/pack.h"
#include "formats/temp_folder.h"
#include "model/random_model.h"
#include "native/native_lane.h"
#include "program/run_sequence.h"

namespace linnet {
namespace {

std::filesystem::path write_model(const TempFolder& folder) {
  const Json config =
      Json::parse(R"({"architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3",
    "vocab_size": 50, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
    "rope_theta": 10000.0, "no_rope_layers": [1, 0]})",
                  "config");
  RandomModelOptions options;
  options.format = RandomFormat::f32;
  options.seed = 3;
  const auto path = folder.path() / "model";
  write_random_model(config, "config", path, options);
  return path;
}

std::shared_ptr<const Model> load(const std::filesystem::path& path, DType dtype,
                                  const std::string& lane, int threads) {
  LaneChoice choice;
  choice.lane = lane;
  LoadOptions options;
  options.threads = threads;
  choose_lane(choice, options);
  OpenOptions open;
  open.dtype = dtype;
  return Model::load(open_model_files(path, open), options);
}

std::vector<float> logits(const Model& model) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < 40; ++i) tokens.push_back(i * 7 % 50);
  return testing::run_alone(model.lane(), tokens);
}

double relative_error(const std::vector<float>& got, const std::vector<float>& expected) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += std::pow(static_cast<double>(got[i]) - expected[i], 2);
    power += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(error / power);
}

constexpr DType kTypes[] = {DType::q4_0, DType::q4_1, DType::q5_0,
                            DType::q5_1, DType::q8_0, DType::mxfp4};

}  // namespace

TEST_CASE("GGUF blocks are multiplied as they are, to the rounding of int8 activations") {
  const TempFolder folder;
  const auto path = write_model(folder);
  for (const DType dtype : kTypes) {
    CAPTURE(dtype_name(dtype));
    const std::vector<float> reference = logits(*load(path, dtype, "reference", 1));
    const auto model = load(path, dtype, "auto", 2);
    const auto& lane = dynamic_cast<const NativeLane&>(model->lane());
    std::uint64_t held = 0;
    for (const auto& matrix : lane.matrices()) {
      CHECK(matrix.packed.shape().format == PackedFormat::grouped);
      CHECK(matrix.packed.shape().grouped.format == *grouped_format(dtype));
      held += matrix.packed.shape().bytes();
    }
    const std::vector<StoredType> stored(model->program().weights.size(), StoredType{dtype});
    const LaneMemory memory = lane_memory(LaneChoice{}, model->program(), stored);
    CHECK(memory.weights == held);
    CHECK(memory.format == "grouped");
    CHECK(relative_error(logits(*model), reference) < 0.02);
  }
}

TEST_CASE("GGUF blocks: the same bits for any number of threads and on every table") {
  const TempFolder folder;
  const auto path = write_model(folder);
  for (const DType dtype : {DType::q4_1, DType::q8_0}) {
    ::setenv("LINNET_KERNELS", "scalar", 1);
    const std::vector<float> expected = logits(*load(path, dtype, "native", 1));
    for (const Kernels* table : all_kernels()) {
      if (!table->is_supported()) continue;
      CAPTURE(table->name);
      ::setenv("LINNET_KERNELS", std::string(table->name).c_str(), 1);
      for (const int threads : {1, 3}) {
        CHECK(logits(*load(path, dtype, "native", threads)) == expected);
      }
    }
  }
  ::unsetenv("LINNET_KERNELS");
}

TEST_CASE("blocks are packed as they are, and give the same bits from the packed file") {
  const TempFolder folder;
  const auto path = write_model(folder);
  for (const DType dtype : kTypes) {
    CAPTURE(dtype_name(dtype));
    const auto model = load(path, dtype, "native", 1);
    const auto packed = folder.path() / std::string(dtype_name(dtype));
    pack_model(*model, open_model_files(path), packed, false);
    LoadOptions options;
    choose_lane({}, options);
    CHECK(logits(*Model::load(open_model_files(packed), options)) == logits(*model));
  }
}

}  // namespace linnet
