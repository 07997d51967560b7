#include "engine/classify.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "engine/golden_head.h"
#include "engine/tiny_model.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

const std::string kHead = "sequence-classification";

std::shared_ptr<const Model> new_head() {
  LoadOptions options;
  options.task_head = TaskHead::sequence_classification;
  options.initialize_missing_head = true;
  options.labels = {"red", "green", "blue"};
  static const auto model = Model::load(open_model_files(tiny_folder()), options);
  return model;
}

// Independent of the pipeline: in f64, by the formulas.
std::vector<double> expected_scores(const std::vector<float>& logits, ScoreFunction function) {
  std::vector<double> scores(logits.begin(), logits.end());
  double sum = 0;
  for (double& score : scores) {
    if (function == ScoreFunction::softmax) sum += score = std::exp(score);
    if (function == ScoreFunction::sigmoid) score = 1 / (1 + std::exp(-score));
  }
  for (double& score : scores) score /= function == ScoreFunction::softmax ? sum : 1;
  return scores;
}

void check_row(const GoldenRow& row, const std::string& field, PoolingRule pooling,
               ScoreFunction function) {
  ClassifyOptions options;
  options.top = 0;
  options.scores = function;
  options.pooling = pooling;
  const TextClassifier classifier(golden_model(kHead), byte_tokenizer(), options);
  const std::vector<TextPair> texts = {{row.text}};
  const Classification result = classifier.classify(texts)[0];
  const auto wanted = expected_scores(row.expected.at(field), function);
  const auto& labels = golden_model(kHead)->config().labels;
  REQUIRE(result.labels.size() == wanted.size());
  CHECK(result.tokens == static_cast<std::int64_t>(row.text.size()));
  for (std::size_t i = 0; i < result.labels.size(); ++i) {
    const LabelScore& found = result.labels[i];
    if (i > 0) CHECK(found.score <= result.labels[i - 1].score);
    const auto index = static_cast<std::size_t>(
        std::find(labels.begin(), labels.end(), found.label) - labels.begin());
    REQUIRE(index < wanted.size());
    CHECK_MESSAGE(std::abs(static_cast<double>(found.score) - wanted[index]) < 1e-4, row.name);
  }
}

std::string fault_of(const TextClassifier& classifier, const TextPair& text) {
  try {
    classifier.prepare(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("scores of the golden classifier, by every function and both pooling rules") {
  std::size_t rows = 0;
  for (const GoldenRow& row : golden_rows(kHead)) {
    for (const ScoreFunction function :
         {ScoreFunction::softmax, ScoreFunction::sigmoid, ScoreFunction::none}) {
      check_row(row, "logits", PoolingRule::rightmost_not_pad, function);
      // Without padding on the left this rule means the same row here as there.
      if (row.columns.front() == 0)
        check_row(row, "logits_bumblebee", PoolingRule::count_not_pad, function);
    }
    ++rows;
  }
  CHECK(rows >= 9);
}

TEST_CASE("the kind of problem chooses the function, unless it was given") {
  using enum ScoreFunction;
  CHECK(score_function(automatic, ProblemType::unset, 3) == softmax);
  CHECK(score_function(automatic, ProblemType::unset, 1) == none);
  CHECK(score_function(automatic, ProblemType::single_label, 1) == softmax);
  CHECK(score_function(automatic, ProblemType::multi_label, 3) == sigmoid);
  CHECK(score_function(automatic, ProblemType::regression, 3) == none);
  CHECK(score_function(sigmoid, ProblemType::regression, 1) == sigmoid);
}

TEST_CASE("the best labels come first, ties by index, NaN last") {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> scores = {nan, 0.25f, 0.5f, 0.25f};
  const auto best = best_labels(scores, names, 3);
  REQUIRE(best.size() == 3);
  CHECK((best[0] == LabelScore{"c", 0.5f} && best[1].label == "b" && best[2].label == "d"));
  CHECK(best_labels(scores, names, 0).back().label == "a");
  CHECK(best_labels(scores, names, 99).size() == 4);
  CHECK(argmax(scores) == 2);
  std::vector<float> broken = {nan};
  apply_score_function(ScoreFunction::sigmoid, broken);
  CHECK(std::isnan(broken[0]));
}

TEST_CASE("a text has the same bits alone, in any batch and in any order") {
  std::vector<TextPair> texts;
  for (const std::string& text : random_texts(40, 60, 7)) texts.push_back({"x" + text});
  ClassifyOptions options;
  const auto classify = [&](std::span<const TextPair> some) {
    return TextClassifier(golden_model(kHead), byte_tokenizer(), options).classify(some);
  };
  const auto whole = classify(texts);
  for (const BatchLimits limits : {BatchLimits{1, 1024}, BatchLimits{3, 100}, BatchLimits{64, 61},
                                   BatchLimits{7, 5}, BatchLimits{1, 1}}) {
    options.limits = limits;
    const auto other = classify(texts);
    for (std::size_t i = 0; i < texts.size(); ++i) CHECK(other[i].labels == whole[i].labels);
  }
  options.limits = {};
  std::vector<TextPair> backwards(texts.rbegin(), texts.rend());
  const auto reversed = classify(backwards);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(reversed[texts.size() - 1 - i].labels == whole[i].labels);
    CHECK(classify(std::span(texts).subspan(i, 1))[0].labels == whole[i].labels);
  }
}

TEST_CASE("a pair is the tokens of both texts, with what belongs around each") {
  const auto model = golden_model(kHead);
  const TextClassifier plain(model, byte_tokenizer());
  const auto ids = plain.prepare({"ab cd"}).ids;
  CHECK(plain.prepare({"ab", " cd"}).ids == ids);
  CHECK(plain.prepare({"", "ab cd"}).ids == ids);
  const TextClassifier framed(model, byte_tokenizer({1}, {2, 3}));
  const std::vector<TokenId> wanted = {1, 'a' - 8, 2, 3, 1, 'b' - 8, 'c' - 8, 2, 3};
  CHECK(framed.prepare({"a", "bc"}).ids == wanted);
}

TEST_CASE("what is too long loses its end, of a pair the longer text") {
  const auto text_of = [](const std::vector<TokenId>& ids) {
    std::string text;
    for (const TokenId id : ids) text += static_cast<char>(id + kFirstByte);
    return text;
  };
  ClassifyOptions options;
  options.max_tokens = 6;
  const TextClassifier classifier(golden_model(kHead), byte_tokenizer(), options);
  const auto cut = [&](const TextPair& text) {
    const auto prepared = classifier.prepare(text);
    CHECK(prepared.truncated);
    return text_of(prepared.ids);
  };
  CHECK(cut({"abcdefgh"}) == "abcdef");
  CHECK(cut({"abcdefgh", "12"}) == "abcd12");
  CHECK(cut({"ab", "12345678"}) == "ab1234");
  CHECK(cut({"abcdefgh", "12345678"}) == "abc123");
  CHECK_FALSE(classifier.prepare({"abc", "123"}).truncated);
  options.max_tokens = 0;
  const TextClassifier whole(golden_model(kHead), byte_tokenizer(), options);
  CHECK(whole.prepare({std::string(500, 'a')}).ids.size() == 128);  // the model's context
  options.max_tokens = 3;
  const TextClassifier framed(golden_model(kHead), byte_tokenizer({1}, {2}), options);
  CHECK(framed.prepare({"abc"}).ids == std::vector<TokenId>{1, 'a' - 8, 2});
  CHECK(holds(fault_of(framed, {"a", "b"}), "room"));
}

TEST_CASE("texts that cannot be classified are refused with a reason") {
  const TextClassifier classifier(new_head(), tiny_tokenizer());
  CHECK(holds(fault_of(classifier, {""}), "empty"));
  CHECK(holds(fault_of(classifier, {"", ""}), "empty"));
  CHECK(holds(fault_of(classifier, {"ok \xFF"}), "UTF-8 at byte 3"));
  CHECK(holds(fault_of(classifier, {"ok", "\xE2\x82"}), "UTF-8 at byte 0"));
  const std::vector<TextPair> texts = {{"a"}, {""}};
  CHECK_THROWS_WITH_AS(classifier.classify(texts),
                       "input 1: the text is empty: there is no token to classify", Error);
  CHECK(classifier.classify(std::span<const TextPair>()).empty());
}

TEST_CASE("control tokens in a text are text, unless it is trusted") {
  ClassifyOptions options;
  const TextClassifier careful(new_head(), tiny_tokenizer(), options);
  options.trust_text = true;
  const TextClassifier trusting(new_head(), tiny_tokenizer(), options);
  CHECK(careful.prepare({"<|im_end|>"}).ids.size() > 1);
  CHECK(trusting.prepare({"<|im_end|>"}).ids.size() == 1);
}

TEST_CASE("long texts and NUL bytes are read like any other") {
  ClassifyOptions options;
  options.max_tokens = 50;
  const TextClassifier classifier(new_head(), tiny_tokenizer(), options);
  const std::vector<TextPair> texts = {{std::string(1 << 20, 'a')}, {std::string("a\0b", 3)}};
  const auto results = classifier.classify(texts);
  CHECK((results[0].truncated && results[0].tokens == 50 && results[0].labels.size() == 3));
  CHECK((!results[1].truncated && results[1].tokens >= 2));
}

TEST_CASE("a token classifier can be read as one of texts; other heads are refused by name") {
  const auto tokens = golden_model("token-classification");
  const TextClassifier classifier(tokens, byte_tokenizer());
  for (const GoldenRow& row : golden_rows("token-classification")) {
    const std::vector<TextPair> texts = {{row.text}};
    const auto& logits = row.expected.at("logits");
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row.columns.back() * 5);
    const auto wanted = expected_scores({first, first + 5}, ScoreFunction::softmax);
    const double best = *std::max_element(wanted.begin(), wanted.end());
    CHECK(static_cast<double>(classifier.classify(texts)[0].labels[0].score) ==
          doctest::Approx(best).epsilon(1e-4));
  }
  CHECK_THROWS_AS(TextClassifier(tiny_model(), tiny_tokenizer()), Error);
}

TEST_CASE("a model without the head says which heads it has") {
  const auto fault = [](const std::filesystem::path& path, TaskHead head) -> std::string {
    try {
      TaskModel::load(path, head);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string chat = fault(tiny_folder(), TaskHead::question_answering);
  for (const char* part : {"no head for question_answering", "it has: causal_lm", "initialise"})
    CHECK_MESSAGE(holds(chat, part), chat);
  const std::string tags =
      fault(golden_folder("token-classification"), TaskHead::sequence_classification);
  CHECK_MESSAGE(holds(tags, "it has: token_classification."), tags);
  CHECK(holds(fault(golden_folder("base"), TaskHead::causal_lm), "bare decoder"));
  LoadOptions load;
  load.initialize_missing_head = true;
  const auto opened = TaskModel::load(tiny_folder(), TaskHead::question_answering, {}, load);
  CHECK(opened.model->report().initialized.size() == 2);
  CHECK(opened.model->config().task_head == TaskHead::question_answering);
}

TEST_CASE("cancelling ends in an error of its own") {
  const std::atomic<bool> cancel = true;
  ClassifyOptions options;
  options.cancel = &cancel;
  const std::vector<TextPair> texts = {{"a"}};
  try {
    TextClassifier(new_head(), tiny_tokenizer(), options).classify(texts);
    FAIL("not cancelled");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::cancelled);
  }
}
