#include "engine/embed.h"

#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "engine/prepare_all.h"

namespace linnet {
namespace {

// Sums in f64, in the order of the rows, however they come.
class RowSum {
 public:
  explicit RowSum(std::size_t width) : sums_(width) {}

  void add(std::span<const float> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      sums_[i % sums_.size()] += static_cast<double>(rows[i]);
    rows_ += rows.size() / sums_.size();
  }

  std::vector<float> mean(bool normalize) const {
    double squares = 0;
    for (const double sum : sums_) squares += sum * sum;
    const double divisor = normalize ? std::sqrt(squares) : static_cast<double>(rows_);
    std::vector<float> values;
    for (const double sum : sums_)
      values.push_back(static_cast<float>(divisor == 0 ? sum : sum / divisor));
    return values;
  }

 private:
  std::vector<double> sums_;
  std::size_t rows_ = 0;
};

}  // namespace

TextEmbedder::TextEmbedder(std::shared_ptr<const Model> model,
                           std::shared_ptr<const Tokenizer> tokenizer, EmbedOptions options)
    : model_(std::move(model)),
      encoder_(model_, std::move(tokenizer), options.trust_text),
      options_(options),
      max_tokens_(checked_max_tokens(*model_, options.max_tokens)) {
  if (model_->config().task_head != TaskHead::none) {
    fail(ErrorCode::invalid_argument,
         fmt::format("embeddings are made of hidden states, but the model was opened with the head "
                     "{}: open it with none",
                     task_head_name(model_->config().task_head)));
  }
}

TextEmbedder::Prepared TextEmbedder::prepare(const std::string& text) const {
  TaskText encoded = encoder_.encode(text);
  if (encoded.ids.empty()) {
    fail(ErrorCode::invalid_argument, "the text is empty: there is no token to embed");
  }
  const std::size_t tokens = encoded.text_tokens();
  const std::size_t room = text_room(max_tokens_, encoded.before + encoded.after);
  encoded.keep(room);
  return {std::move(encoded.ids), tokens > room};
}

std::vector<Embedding> TextEmbedder::embed(std::span<const std::string> texts) const {
  return embed(std::span<const Prepared>(prepare_all(*this, texts)));
}

std::vector<Embedding> TextEmbedder::embed(std::span<const Prepared> texts) const {
  std::vector<RowInput> inputs;
  std::vector<Embedding> results;
  std::vector<RowSum> sums(texts.size(), RowSum(static_cast<std::size_t>(width())));
  for (const Prepared& text : texts) {
    const auto tokens = static_cast<std::int64_t>(text.ids.size());
    const bool is_last = options_.pooling == EmbeddingPooling::last;
    inputs.push_back({text.ids, is_last ? std::optional(tokens - 1) : std::nullopt});
    results.push_back({{}, tokens, text.truncated});
  }
  const auto add = [&](std::size_t index, std::span<const float> rows) { sums[index].add(rows); };
  run_in_batches(*model_, inputs, options_.limits, add, options_.cancel);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].values = sums[i].mean(options_.normalize);
  return results;
}

}  // namespace linnet
