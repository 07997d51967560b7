// Models that are stored in Linnet's own formats, in both lanes.
#include <doctest/doctest.h>

#include <cmath>

#include "base/error.h"
#include "engine/lanes.h"
#include "engine/pack.h"
#include "engine/tiny_model.h"
#include "formats/temp_folder.h"
#include "model/random_model.h"
#include "native/native_lane.h"
#include "program/run_sequence.h"
#include "tensor/coded_rows.h"

namespace linnet {
namespace {

Json small_config() {
  return Json::parse(R"({"architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3",
    "vocab_size": 50, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
    "rope_theta": 10000.0, "no_rope_layers": [1, 0]})",
                     "config");
}

std::filesystem::path write(const TempFolder& folder, RandomFormat format, std::uint64_t seed = 1,
                            const Json& config = small_config()) {
  RandomModelOptions options;
  options.format = format;
  options.seed = seed;
  options.output.threads = 2;
  const auto path =
      folder.path() / ("m" + std::to_string(static_cast<int>(format)) + "." + std::to_string(seed));
  write_random_model(config, "config", path, options);
  return path;
}

std::shared_ptr<const Model> load(const std::filesystem::path& path, const std::string& lane,
                                  const std::string& weights = "auto") {
  LaneChoice choice;
  choice.lane = lane;
  choice.weights = weights;
  LoadOptions options;
  options.threads = 2;
  choose_lane(choice, options);
  return Model::load(open_model_files(path), options);
}

std::vector<float> logits(const Model& model) {
  const std::vector<std::int32_t> tokens = {3, 1, 4, 1, 5, 9, 2, 6};
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

const NativeLane& native_of(const Model& model) {
  return dynamic_cast<const NativeLane&>(model.lane());
}

}  // namespace

TEST_CASE("random models have logits of sane size, the same in both lanes") {
  const TempFolder folder;
  for (const RandomFormat format : {RandomFormat::f32, RandomFormat::bf16, RandomFormat::i8,
                                    RandomFormat::n4, RandomFormat::s6}) {
    CAPTURE(static_cast<int>(format));
    const auto path = write(folder, format);
    const std::vector<float> reference = logits(*load(path, "reference"));
    double square = 0;
    for (const float x : reference) square += static_cast<double>(x) * x;
    const double rms = std::sqrt(square / static_cast<double>(reference.size()));
    CHECK(rms > 0.3);
    CHECK(rms < 3);
    // The codes are the same; what differs is int8 activations.
    const bool is_integer = format != RandomFormat::f32 && format != RandomFormat::bf16;
    CHECK(relative_error(logits(*load(path, "native")), reference) < (is_integer ? 0.03 : 1e-5));
  }
}

TEST_CASE("the same seed gives the same file, another one another") {
  const TempFolder first, second;
  const auto content = [](const std::filesystem::path& path) {
    return read_text_file(path / "model.safetensors");
  };
  const std::string expected = content(write(first, RandomFormat::n4));
  CHECK(content(write(second, RandomFormat::n4)) == expected);
  CHECK(content(write(second, RandomFormat::n4, 2)) != expected);
  CHECK_THROWS_WITH_AS(write(second, RandomFormat::n4), doctest::Contains("is there already"),
                       Error);
}

TEST_CASE("the native lane keeps the codes of the files, matrix by matrix") {
  const TempFolder folder;
  const auto path = write(folder, RandomFormat::n4);
  const auto model = load(path, "native");
  const NativeLane& lane = native_of(*model);
  const ModelFiles files = open_model_files(path);
  const auto& plans = lane.lowered().matrices;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].is_gate) continue;  // two weights in turns
    const PackedMatrix& packed = lane.matrices()[i].packed;
    CHECK(packed.shape().format == (plans[i].is_head ? PackedFormat::s6 : PackedFormat::n4));
    std::int64_t output = 0;
    for (const WeightId id : plans[i].weights) {
      const std::string& name = lane.program().weights[static_cast<std::size_t>(id)].name;
      const Tensor weight = files.tensor("model." + name);
      const auto width = static_cast<std::size_t>(weight.dim(-1));
      std::vector<float> stored(width), held(width);
      std::size_t wrong = 0;
      for (std::int64_t row = 0; row < weight.dim(0); ++row, ++output) {
        weight.decode_row(row, stored.data());
        packed.decode_output(output, weight.dim(-1), held.data());
        wrong += stored != held;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a packed model gives the same bits, from a mapped file") {
  const TempFolder folder;
  for (const bool is_tied : {true, false}) {
    for (const RandomFormat format : {RandomFormat::f32, RandomFormat::bf16, RandomFormat::i8,
                                      RandomFormat::n4, RandomFormat::s6}) {
      CAPTURE(is_tied);
      CAPTURE(static_cast<int>(format));
      Json config = small_config();
      config.set("tie_word_embeddings", is_tied);
      config.set("attention_bias", !is_tied);
      const std::uint64_t seed = is_tied ? 5 : 6;
      const auto path = write(folder, format, seed, config);
      const auto model = load(path, "native");
      auto packed = path;
      packed += ".packed";
      const ConvertReport report = pack_model(*model, open_model_files(path), packed, false);
      CHECK(report.files.back() == kPackedFile);
      CHECK(std::filesystem::exists(packed / "config.json"));
      const auto again = load(packed, "auto");
      CHECK(logits(*again) == logits(*model));
      CHECK(native_of(*again).parts().size() == native_of(*model).parts().size());
      CHECK_THROWS_WITH_AS(load(packed, "reference"), doctest::Contains("native lane only"), Error);
      CHECK_THROWS_WITH_AS(load(packed, "native", format == RandomFormat::f32 ? "i8" : "f32"),
                           doctest::Contains("was not packed as"), Error);
      CHECK_THROWS_WITH_AS(pack_model(*model, open_model_files(path), packed, false),
                           doctest::Contains("is there already"), Error);
    }
  }
}

TEST_CASE("a packed model of another config is refused") {
  const TempFolder folder;
  const auto path = write(folder, RandomFormat::i8);
  const auto packed = folder / "packed";
  pack_model(*load(path, "native"), open_model_files(path), packed, false);
  struct Change {
    const char* key;
    int value;
  };
  for (const Change& change : {Change{"vocab_size", 51},
                               {"num_hidden_layers", 1},
                               {"num_hidden_layers", 3},
                               {"intermediate_size", 128}}) {
    const char* key = change.key;
    const int value = change.value;
    CAPTURE(key);
    Json config = small_config();
    config.set(key, value);
    if (std::string_view(key) == "num_hidden_layers") config.set("no_rope_layers", Json());
    write_file_atomically(packed / "config.json", as_bytes(config.dump()));
    const bool has_all = value == 1;  // a layer too many in the file does no harm
    if (has_all) continue;
    CHECK_THROWS_WITH_AS(load(packed, "native"), doctest::Contains("pack the model again"), Error);
  }
}

TEST_CASE("another format can be asked for, and is told beforehand") {
  const TempFolder folder;
  const auto path = write(folder, RandomFormat::n4);
  const ModelFiles files = open_model_files(path);
  for (const std::string weights : {"auto", "f32", "i8", "n4"}) {
    CAPTURE(weights);
    const auto model = load(path, "native", weights);
    std::vector<StoredType> stored;
    for (const WeightSlot& slot : model->program().weights) {
      const TensorInfo* info = files.find("model." + slot.name);
      stored.push_back({info->dtype, info->coding});
    }
    LaneChoice choice;
    choice.weights = weights;
    const LaneMemory memory = lane_memory(choice, model->program(), stored);
    // As the files have them, or as the choice has them: with a head of six bits under n4.
    CHECK(memory.format == (weights == "auto" || weights == "n4" ? "n4, s6" : weights));
    std::uint64_t held = 0;
    for (const auto& matrix : native_of(*model).matrices()) held += matrix.packed.shape().bytes();
    CHECK(memory.weights == held);
  }
}

}  // namespace linnet
