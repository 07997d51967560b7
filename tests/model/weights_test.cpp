#include "model/weights.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "model/model_folder.h"
#include "tensor/blocks.h"

using namespace linnet;
using linnet::testing::ModelFolder;

namespace {

std::vector<float> logits(const Model& model) {
  KvCache cache = model.make_cache();
  const std::int32_t tokens[] = {3, 1, 4}, positions[] = {0, 1, 2}, selected[] = {0, 1, 2};
  const SequenceRows rows[] = {{&cache, 3}};
  Batch batch;
  batch.tokens = tokens, batch.positions = positions, batch.sequences = rows,
  batch.selected = selected;
  return model.run(batch);
}

Tensor encoded(const Tensor& tensor, DType dtype) {
  const Tensor out = Tensor::zeros(dtype, tensor.shape());
  encode(dtype, tensor.values<float>().data(), const_cast<std::byte*>(out.bytes().data()),
         tensor.elements());
  return out;
}

}  // namespace

TEST_CASE("missing, misshapen and unexpected tensors are all named in one message") {
  ModelFolder folder;
  folder.tensors.erase(folder.tensors.begin() + 2);
  const std::string lost = "model.layers.0.self_attn.q_proj.weight";
  folder.tensors.back().second = Tensor::zeros(DType::f32, {9});
  folder.tensors.emplace_back("model.extra", Tensor::zeros(DType::f32, {1}));
  const std::string fault = folder.fault();
  for (const std::string part :
       {lost.c_str(), "missing", "model.norm.weight", "[8]", "[9]", "model.extra"}) {
    CHECK_MESSAGE(fault.find(part) != std::string::npos, fault);
  }
}

TEST_CASE("tensors that the model does not have are reported, not refused") {
  ModelFolder folder;
  folder.tensors.emplace_back("model.extra", Tensor::zeros(DType::f32, {1}));
  CHECK(folder.load()->report().unexpected == std::vector<std::string>{"model.extra"});
}

TEST_CASE("a tied head uses the embedding; an own head its tensor") {
  ModelFolder folder;
  const auto tied = logits(*folder.load());
  folder.config.set("tie_word_embeddings", false);
  CHECK(folder.fault().find("lm_head.weight") != std::string::npos);
  folder.tensors.emplace_back("lm_head.weight", folder.tensors[0].second);
  CHECK(logits(*folder.load()) == tied);
}

TEST_CASE("a base model without prefix gives hidden states") {
  ModelFolder folder;
  folder.config.set("architectures", Json(Json::Array{"LlamaModel"}));
  for (auto& [name, tensor] : folder.tensors) name = name.substr(6);
  CHECK(logits(*folder.load()).size() == 3 * 8);
}

TEST_CASE("weights decoded at load and row by row give the same bits") {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    ModelFolder folder;
    for (auto& [name, tensor] : folder.tensors) tensor = encoded(tensor, dtype);
    const auto at_load = folder.load();
    const auto by_row = folder.load({.decode_limit = 0});
    CHECK(at_load->report().memory_bytes > by_row->report().memory_bytes);
    CHECK(logits(*at_load) == logits(*by_row));
  }
}

TEST_CASE("integer tensors are no weights") {
  ModelFolder folder;
  folder.tensors[1].second = Tensor::zeros(DType::i32, {8});
  CHECK(folder.fault().find("I32") != std::string::npos);
}

TEST_CASE("progress ends at 1") {
  ModelFolder folder;
  std::vector<double> seen;
  LoadOptions options;
  options.on_progress = [&](double part) { seen.push_back(part); };
  folder.load(options);
  REQUIRE(!seen.empty());
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.back() == 1.0);
}
