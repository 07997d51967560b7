#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model/forward.h"
#include "model/model_folder.h"
#include "model/weights.h"

using namespace linnet;
using linnet::testing::ModelFolder;

namespace {

struct HeadCase {
  const char* architecture;
  TaskHead head;
  const char* prefix;
  std::int64_t width;
};
constexpr HeadCase kCases[] = {
    {"SmolLM3Model", TaskHead::none, "", 8},
    {"SmolLM3ForCausalLM", TaskHead::causal_lm, "model.", 20},
    {"LlamaForSequenceClassification", TaskHead::sequence_classification, "model.", 3},
    {"SmolLM3ForTokenClassification", TaskHead::token_classification, "model.", 3},
    {"SmolLM3ForQuestionAnswering", TaskHead::question_answering, "transformer.", 2},
};

const std::vector<std::int64_t> kTokens = {3, 1, 4, 1, 5, 9, 2, 6};

ForwardRequest request_of(std::int64_t batch, std::int64_t length) {
  ForwardRequest request;
  request.input.batch = batch, request.input.length = length, request.input.tokens = kTokens;
  return request;
}

void configure(ModelFolder& folder, const HeadCase& head) {
  folder.config.set("architectures", Json(Json::Array{head.architecture}));
  folder.set("id2label", R"({"0": "low", "2": "high", "1": "middle"})");
  folder.config.set("pad_token_id", 0);
  folder.make_tensors(head.prefix);
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every head is found by its architecture, under any prefix") {
  for (const HeadCase& head : kCases) {
    ModelFolder folder;
    configure(folder, head);
    for (const char* prefix : {head.prefix, "model.", "", "transformer.", "backbone.inner."}) {
      folder.make_tensors(prefix);
      const auto model = folder.load();
      CHECK(model->config().task_head == head.head);
      CHECK(model->report().unexpected.empty());
      const ForwardOutputs outputs = forward(*model, request_of(2, 4));
      CHECK(outputs.width == head.width);
      const auto rows = static_cast<std::size_t>(outputs.batch * outputs.columns);
      if (head.head == TaskHead::question_answering) {
        CHECK(outputs.start_logits.size() == rows);
        CHECK(outputs.end_logits.size() == rows);
        CHECK(outputs.start_logits != outputs.end_logits);
      } else {
        CHECK(outputs.logits.size() == rows * static_cast<std::size_t>(head.width));
      }
    }
  }
}

TEST_CASE("a sequence classifier gives the score of its pooled row") {
  ModelFolder folder;
  configure(folder, kCases[2]);
  const auto model = folder.load();
  const Tensor score = folder.tensors.back().second;
  CHECK(folder.tensors.back().first == "score.weight");
  ForwardRequest request = request_of(2, 4);
  request.hidden_states = true;
  const ForwardOutputs outputs = forward(*model, request);
  CHECK(outputs.pooled_columns == std::vector<std::int64_t>{3, 3});
  const std::size_t plane = 2 * 4 * 8;
  for (std::size_t row = 0; row < 2; ++row) {
    const float* normed = &outputs.hidden_states[2 * plane + (row * 4 + 3) * 8];
    for (std::size_t label = 0; label < 3; ++label) {
      const float expected = dot(normed, &score.values<float>()[label * 8], 8);
      CHECK(outputs.logits[row * 3 + label] == expected);
    }
  }
}

TEST_CASE("labels come from id2label, label2id, num_labels or the load options") {
  const auto labels = [](std::string_view key, std::string_view json) {
    ModelFolder folder;
    folder.config.set("architectures", Json(Json::Array{"LlamaForTokenClassification"}));
    if (!key.empty()) folder.set(key, json);
    return ModelConfig::from_json(folder.config, "c.json").labels;
  };
  using Names = std::vector<std::string>;
  CHECK(labels("id2label", R"({"1": "b", "0": "a"})") == Names{"a", "b"});
  CHECK(labels("label2id", R"({"b": 1, "a": 0, "c": 2})") == Names{"a", "b", "c"});
  CHECK(labels("num_labels", "3") == Names{"LABEL_0", "LABEL_1", "LABEL_2"});
  CHECK(labels("", "") == Names{"LABEL_0", "LABEL_1"});
  for (const char* bad :
       {R"({"0": "a", "2": "b"})", R"({"00": "a", "0": "b"})", R"({"x": "a"})", R"({"-1": "a"})",
        R"({"18446744073709551616": "a"})", R"({"0": 1})", R"(["a"])"}) {
    CHECK_THROWS_AS(labels("id2label", bad), Error);
  }
  CHECK_THROWS_AS(labels("label2id", R"({"a": 0, "b": 0})"), Error);
  CHECK_THROWS_AS(labels("num_labels", "0"), Error);
  ModelFolder folder;
  configure(folder, kCases[2]);
  CHECK(folder.load({.labels = {"x", "y", "z"}})->config().labels == Names{"x", "y", "z"});
  CHECK(holds(folder.fault({.labels = {"x", "y"}}), "2 labels"));
}

TEST_CASE("the kind of problem is known or refused by name") {
  ModelFolder folder;
  configure(folder, kCases[2]);
  CHECK(folder.load()->config().problem_type == ProblemType::unset);
  folder.set("problem_type", R"("multi_label_classification")");
  CHECK(folder.load()->config().problem_type == ProblemType::multi_label);
  folder.set("problem_type", R"("ranking")");
  CHECK(holds(folder.fault(), "ranking"));
}

TEST_CASE("another head than the checkpoint's: missing tensors are named, or made new") {
  ModelFolder folder;
  LoadOptions options;
  options.task_head = TaskHead::token_classification;
  options.labels = {"a", "b", "c"};
  const std::string fault = folder.fault(options);
  for (const char* part : {"score.weight", "[3, 8]", "score.bias", "token_classification",
                           "initialize_missing_head"}) {
    CHECK_MESSAGE(holds(fault, part), fault);
  }
  options.initialize_missing_head = true;
  options.seed = 5;
  const auto model = folder.load(options);
  CHECK(model->report().initialized == std::vector<std::string>{"score.weight", "score.bias"});
  CHECK(model->config().architecture == "LlamaForTokenClassification");
  const auto logits = [&] { return forward(*folder.load(options), request_of(2, 4)).logits; };
  const auto first = logits();
  CHECK(logits() == first);
  options.seed = 6;
  CHECK(logits() != first);
  // Only the head may be made new.
  folder.tensors.erase(folder.tensors.begin() + 2);
  CHECK(holds(folder.fault(options), "q_proj"));
}

TEST_CASE("new weights are normal, zero mean, with the deviation that was asked for") {
  const Tensor tensor = random_normal({100, 300}, 0.02f, 9);
  double sum = 0, squares = 0;
  std::size_t within = 0;
  for (const float value : tensor.values<float>()) {
    sum += value, squares += static_cast<double>(value) * value;
    within += std::abs(value) < 0.02f;
  }
  CHECK(std::abs(sum / 30000) < 5e-4);
  CHECK(std::sqrt(squares / 30000) == doctest::Approx(0.02).epsilon(0.02));
  CHECK(static_cast<double>(within) / 30000 == doctest::Approx(0.6827).epsilon(0.02));
}

TEST_CASE("a causal model loads as its bare decoder") {
  ModelFolder folder;
  const auto bare = folder.load({.task_head = TaskHead::none});
  ForwardRequest request = request_of(2, 4);
  request.hidden_states = true;
  const ForwardOutputs outputs = forward(*bare, request);
  CHECK(std::equal(outputs.logits.begin(), outputs.logits.end(),
                   outputs.hidden_states.end() - 2 * 4 * 8));
}
