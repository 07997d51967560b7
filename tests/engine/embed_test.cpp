#include "engine/embed.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/error.h"
#include "engine/golden_head.h"
#include "engine/tiny_model.h"
#include "tensor/functions.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

std::vector<Embedding> embed(std::span<const std::string> texts, const EmbedOptions& options) {
  return TextEmbedder(golden_model("base"), byte_tokenizer(), options).embed(texts);
}

// The pooled golden hidden states, in f64.
std::vector<double> expected_values(const GoldenRow& row, EmbeddingPooling pooling,
                                    bool normalize) {
  const std::vector<float>& states = row.expected.at("last_hidden_state");
  std::vector<double> values(32);
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    const bool counts = pooling == EmbeddingPooling::mean || i + 1 == row.columns.size();
    for (std::size_t j = 0; counts && j < 32; ++j)
      values[j] += static_cast<double>(states[row.columns[i] * 32 + j]);
  }
  double divisor = pooling == EmbeddingPooling::mean ? static_cast<double>(row.columns.size()) : 1;
  if (normalize) {
    double squares = 0;
    for (const double value : values) squares += value * value;
    divisor = std::sqrt(squares);
  }
  for (double& value : values) value /= divisor;
  return values;
}

}  // namespace

TEST_CASE("embeddings are the pooled hidden states of the golden model") {
  const std::vector<GoldenRow> rows = golden_rows("base");
  REQUIRE(rows.size() == 7);
  for (const GoldenRow& row : rows) {
    for (const EmbeddingPooling pooling : {EmbeddingPooling::mean, EmbeddingPooling::last}) {
      for (const bool normalize : {true, false}) {
        const std::vector<std::string> texts = {row.text};
        EmbedOptions options;
        options.pooling = pooling;
        options.normalize = normalize;
        const Embedding found = embed(texts, options)[0];
        const auto wanted = expected_values(row, pooling, normalize);
        REQUIRE(found.values.size() == 32);
        double squares = 0;
        for (std::size_t i = 0; i < 32; ++i) {
          const auto value = static_cast<double>(found.values[i]);
          squares += value * value;
          CHECK_MESSAGE(std::abs(value - wanted[i]) < 1e-4, row.name);
        }
        if (normalize) CHECK(squares == doctest::Approx(1).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("an embedding has the same bits alone, in any batch and in any order") {
  std::vector<std::string> texts = random_texts(40, 60, 3);
  for (std::string& text : texts) text += "x";
  for (const EmbeddingPooling pooling : {EmbeddingPooling::mean, EmbeddingPooling::last}) {
    EmbedOptions options;
    options.pooling = pooling;
    const auto whole = embed(texts, options);
    for (const BatchLimits limits : {BatchLimits{1, 1024}, BatchLimits{5, 90}, BatchLimits{9, 4}}) {
      options.limits = limits;
      const auto other = embed(texts, options);
      for (std::size_t i = 0; i < texts.size(); ++i) CHECK(other[i].values == whole[i].values);
    }
    const std::vector<std::string> backwards(texts.rbegin(), texts.rend());
    const auto reversed = embed(backwards, options);
    for (std::size_t i = 0; i < texts.size(); ++i)
      CHECK(reversed[texts.size() - 1 - i].values == whole[i].values);
  }
}

TEST_CASE("a text beyond the context is cut and says so") {
  const std::vector<std::string> texts = {std::string(1 << 20, 'q'), std::string(128, 'q')};
  const auto found = embed(texts, {});
  CHECK((found[0].truncated && found[0].tokens == 128 && !found[1].truncated));
  CHECK(found[0].values == found[1].values);
  EmbedOptions options;
  options.max_tokens = 10;
  CHECK(embed(texts, options)[0].tokens == 10);
  options.max_tokens = -1;
  CHECK_THROWS_AS(embed(texts, options), Error);
}

TEST_CASE("nothing has no embedding; a model with a head gives none") {
  const TextEmbedder embedder(golden_model("base"), byte_tokenizer());
  CHECK_THROWS_AS(embedder.prepare(""), Error);
  CHECK_THROWS_AS(embedder.prepare("\xC3"), Error);
  CHECK_THROWS_AS(TextEmbedder(tiny_model(), tiny_tokenizer()), Error);
  const auto opened = TaskModel::load(tiny_folder(), TaskHead::none);
  const std::vector<std::string> texts = {std::string("\0\0", 2), "a \xF0\x9F\x90\xA6"};
  for (const Embedding& found : TextEmbedder(opened.model, opened.tokenizer).embed(texts)) {
    CHECK(static_cast<double>(dot(found.values.data(), found.values.data(), 256)) ==
          doctest::Approx(1).epsilon(1e-5));
  }
}
