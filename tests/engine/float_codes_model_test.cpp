// Models of NF4 and mxfp8: the native lane holds their codes, and gives the bits of f32.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "engine/lanes.h"
#include "engine/pack.h"
#include "engine/tiny_model.h"
#include "formats/safetensors.h"
#include "formats/temp_folder.h"
#include "native/native_lane.h"
#include "program/run_sequence.h"

namespace linnet {
namespace {

std::shared_ptr<const Model> load(const std::filesystem::path& path, const std::string& weights,
                                  int threads = 2) {
  LaneChoice choice;
  choice.lane = "native";
  choice.weights = weights;
  choice.cache = "f32";
  LoadOptions options;
  options.threads = threads;
  choose_lane(choice, options);
  return Model::load(open_model_files(path), options);
}

const NativeLane& native_of(const Model& model) {
  return dynamic_cast<const NativeLane&>(model.lane());
}

std::vector<float> logits(const Model& model, std::size_t count) {
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<std::int32_t>(i * 7 % 50));
  return testing::run_alone(model.lane(), tokens);
}

}  // namespace

TEST_CASE("the published NF4 model runs on its codes, to the bits of its weights in f32") {
  const std::filesystem::path shared = std::filesystem::path(LINNET_SHARED_DIR) / "golden/finetune";
  if (!std::filesystem::exists(shared / "base_nf4")) {
    MESSAGE("skipped: the golden data is not here");
    return;
  }
  const auto model = load(shared / "base_nf4", "auto");
  const auto& lane = native_of(*model);
  for (std::size_t i = 0; i < lane.matrices().size(); ++i) {
    const bool is_head = lane.lowered().matrices[i].is_head;
    CHECK(lane.matrices()[i].packed.shape().format ==
          (is_head ? PackedFormat::bf16 : PackedFormat::nf4));
  }
  const auto in_f32 = load(shared / "base_nf4", "f32");
  for (const std::size_t count : {1, 3, 20, 60})
    CHECK(logits(*model, count) == logits(*in_f32, count));
  const TempFolder folder;
  const auto packed = folder / "packed";
  pack_model(*model, open_model_files(shared / "base_nf4"), packed, false);
  CHECK(logits(*load(packed, "auto"), 30) == logits(*model, 30));

  const auto golden = SafetensorsFile::open(shared / "base_logits.safetensors");
  const auto ids = golden->tensor("input_ids").to_ints();
  const auto expected = golden->tensor("nf4.logits_f32_compute").to_floats();
  const std::vector<std::int32_t> first(ids.begin(), ids.begin() + 24);
  const std::vector<float> got = testing::run_alone(model->lane(), first);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    wrong += !(std::fabs(got[i] - expected[i]) <= 1e-4 + 1e-4 * std::fabs(expected[i]));
  }
  CHECK(wrong == 0);
}

TEST_CASE("weights brought to codes of floats: the same bits for any threads, and on every table") {
  for (const std::string weights : {"mxfp8", "nf4"}) {
    CAPTURE(weights);
    const auto model = load(tiny_folder(), weights, 1);
    const auto& lane = native_of(*model);
    LaneChoice choice;
    choice.weights = weights;
    std::vector<StoredType> stored(lane.program().weights.size());
    std::uint64_t held = 0;
    for (const auto& matrix : lane.matrices()) held += matrix.packed.shape().bytes();
    const LaneMemory memory = lane_memory(choice, lane.program(), stored);
    CHECK(memory.weights == held);
    CHECK(memory.format == (weights == "nf4" ? "nf4, bf16" : "mxfp8"));
    CHECK(lane.cache_format() == CacheFormat::f32);
    const std::vector<float> expected = logits(*model, 40);
    for (const int threads : {2, 3}) {
      CHECK(logits(*load(tiny_folder(), weights, threads), 40) == expected);
    }
    for (const Kernels* table : all_kernels()) {
      if (!table->is_supported()) continue;
      CAPTURE(table->name);
      ::setenv("LINNET_KERNELS", std::string(table->name).c_str(), 1);
      CHECK(logits(*load(tiny_folder(), weights), 40) == expected);
    }
    ::unsetenv("LINNET_KERNELS");
  }
}

}  // namespace linnet
