#include "engine/tag.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/error.h"
#include "engine/golden_head.h"
#include "engine/label_scores.h"
#include "engine/tiny_model.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

const std::string kHead = "token-classification";

std::vector<Tagging> tag(std::span<const std::string> texts, const TagOptions& options,
                         std::shared_ptr<const Tokenizer> tokenizer = byte_tokenizer()) {
  return TextTagger(golden_model(kHead), std::move(tokenizer), options).tag(texts);
}

// Every token, with its best label.
TagOptions every_token() {
  TagOptions options;
  options.aggregation = Aggregation::none;
  options.ignored.clear();
  return options;
}

}  // namespace

TEST_CASE("labels and scores of the golden tagger") {
  const auto& labels = golden_model(kHead)->config().labels;
  std::size_t tokens = 0;
  for (const GoldenRow& row : golden_rows(kHead)) {
    const std::vector<std::string> texts = {row.text};
    const auto entities = tag(texts, every_token())[0].entities;
    REQUIRE(entities.size() == row.columns.size());
    for (std::size_t i = 0; i < entities.size(); ++i, ++tokens) {
      const float* logits = &row.expected.at("logits")[row.columns[i] * labels.size()];
      double sum = 0;
      for (std::size_t j = 0; j < labels.size(); ++j)
        sum += std::exp(static_cast<double>(logits[j]));
      const std::size_t best = argmax({logits, labels.size()});
      CHECK(entities[i].label == labels[best]);
      CHECK(std::abs(static_cast<double>(entities[i].score) -
                     std::exp(static_cast<double>(logits[best])) / sum) < 1e-4);
      CHECK(entities[i].range == TextRange{i, i + 1, i, i + 1});
    }
  }
  CHECK(tokens > 30);
}

TEST_CASE("tags have the same bits alone, in any batch and in any order") {
  const std::vector<std::string> texts = random_texts(30, 60, 11);
  TagOptions options = every_token();
  const auto whole = tag(texts, options);
  for (const BatchLimits limits : {BatchLimits{1, 1024}, BatchLimits{4, 80}, BatchLimits{8, 7}}) {
    options.limits = limits;
    const auto other = tag(texts, options);
    for (std::size_t i = 0; i < texts.size(); ++i) CHECK(other[i].entities == whole[i].entities);
  }
  const std::vector<std::string> backwards(texts.rbegin(), texts.rend());
  const auto reversed = tag(backwards, options);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(reversed[texts.size() - 1 - i].entities == whole[i].entities);
    CHECK(whole[i].entities.size() == texts[i].size());
  }
}

TEST_CASE("a long text is read in windows, and no token is lost or told twice") {
  const std::string text = random_texts(1, 4000, 5)[0] + std::string(300, 'z');
  TagOptions options = every_token();
  options.window = 40;
  options.stride = 10;
  for (const auto& tokenizer : {byte_tokenizer(), byte_tokenizer({1}, {2, 3})}) {
    const std::size_t around = tokenizer->encode("", {.add_special_tokens = true}).size();
    const std::vector<std::string> texts = {text};
    const Tagging found = tag(texts, options, tokenizer)[0];
    REQUIRE(found.entities.size() == text.size());
    const std::size_t room = 40 - around;
    CHECK(found.tokens == static_cast<std::int64_t>(text.size()));
    CHECK(found.windows == static_cast<std::int64_t>((text.size() - 10 + room - 11) / (room - 10)));
    // Each window's new tokens are those of the window's text on its own.
    for (std::size_t begin = 0; begin + 10 < text.size(); begin += room - 10) {
      const std::vector<std::string> part = {text.substr(begin, room)};
      const auto alone = tag(part, options, tokenizer)[0].entities;
      for (std::size_t i = begin == 0 ? 0 : 10; i < alone.size(); ++i) {
        CHECK(alone[i].score == found.entities[begin + i].score);
        CHECK(alone[i].label == found.entities[begin + i].label);
      }
    }
  }
}

TEST_CASE("windows cover everything with the overlap asked for") {
  CHECK(make_windows(0, 5, 2).empty());
  CHECK(make_windows(5, 5, 2) == std::vector<Window>{{0, 5}});
  CHECK(make_windows(6, 5, 2) == std::vector<Window>{{0, 5}, {3, 6}});
  CHECK(make_windows(3, 1, 0).size() == 3);
  for (std::size_t count = 1; count < 60; ++count) {
    for (std::size_t size = 1; size < 12; ++size) {
      for (std::size_t overlap = 0; overlap < size; ++overlap) {
        const auto windows = make_windows(count, size, overlap);
        CHECK((windows.front().begin == 0 && windows.back().end == count));
        for (std::size_t i = 1; i < windows.size(); ++i) {
          CHECK(windows[i].begin + overlap == windows[i - 1].end);
          CHECK(windows[i].end > windows[i - 1].end);
        }
      }
    }
  }
}

TEST_CASE("texts of any kind are tagged or refused") {
  LoadOptions load;
  load.initialize_missing_head = true;
  load.labels = {"O", "B-X", "I-X"};
  const auto opened = TaskModel::load(tiny_folder(), TaskHead::token_classification, {}, load);
  TagOptions options = every_token();
  const TextTagger tagger(opened.model, opened.tokenizer, options);
  const std::vector<std::string> texts = {"", std::string("a\0 b", 4),
                                          "\xF0\x9F\x90\xA6 <|im_end|>"};
  const auto found = tagger.tag(texts);
  CHECK(found[0].entities.empty());
  for (std::size_t i = 1; i < texts.size(); ++i) {
    REQUIRE_FALSE(found[i].entities.empty());
    CHECK(found[i].entities.back().range.end == texts[i].size());
  }
  CHECK_THROWS_AS(tagger.prepare("\xFF"), Error);
  CHECK_THROWS_AS(TextTagger(tiny_model(), tiny_tokenizer()), Error);
  options.stride = -1;
  CHECK_THROWS_AS(TextTagger(opened.model, opened.tokenizer, options), Error);
}

TEST_CASE("a text of a million bytes is tokenized and cut into windows in no time") {
  const TextTagger tagger(golden_model(kHead), byte_tokenizer());
  const auto prepared = tagger.prepare(std::string(1 << 20, 'x'));
  CHECK(prepared.text.ids.size() == 1 << 20);
  CHECK(prepared.windows.back().end == 1 << 20);
}
