#include "engine/classify.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/prepare_all.h"

namespace linnet {
namespace {

// How many text tokens of each of two texts stay, at most `room` together: the longer one is cut
// first, then both to halves. As "longest first" of the reference.
std::pair<std::size_t, std::size_t> shares(std::size_t first, std::size_t second,
                                           std::size_t room) {
  if (first + second <= room) return {first, second};
  const std::size_t shorter = std::min({first, second, room / 2});
  return first <= second ? std::pair{shorter, room - shorter} : std::pair{room - shorter, shorter};
}

void append(std::vector<TokenId>& ids, const std::vector<TokenId>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

std::int64_t pooled_row(const std::vector<TokenId>& ids, PoolingRule rule, TokenId pad) {
  const std::vector<std::int64_t> tokens(ids.begin(), ids.end());
  PaddedBatch padded;
  padded.batch = 1;
  padded.length = static_cast<std::int64_t>(tokens.size());
  padded.tokens = tokens;
  return pooled_columns(padded, rule, pad)[0];
}

}  // namespace

TextClassifier::TextClassifier(std::shared_ptr<const Model> model,
                               std::shared_ptr<const Tokenizer> tokenizer, ClassifyOptions options)
    : model_(std::move(model)),
      encoder_(model_, std::move(tokenizer), options.trust_text),
      options_(options),
      max_tokens_(checked_max_tokens(*model_, options.max_tokens)) {
  const ModelConfig& config = model_->config();
  if (config.task_head != TaskHead::sequence_classification &&
      config.task_head != TaskHead::token_classification) {
    fail(ErrorCode::invalid_argument,
         fmt::format("classification reads labels, but the model was opened with the head {}: open "
                     "it with sequence_classification",
                     task_head_name(config.task_head)));
  }
  if (options.top < 0) {
    fail(ErrorCode::invalid_argument, fmt::format("top: {} labels of each text", options.top));
  }
  function_ = score_function(options.scores, config.problem_type, config.labels.size());
}

TextClassifier::Prepared TextClassifier::prepare(const TextPair& text) const {
  Prepared prepared;
  TaskText first = encoder_.encode(text.text);
  TaskText second = text.pair ? encoder_.encode(*text.pair) : TaskText();
  if (first.ids.empty() && second.ids.empty()) {
    fail(ErrorCode::invalid_argument, "the text is empty: there is no token to classify");
  }
  const std::size_t tokens = first.text_tokens(), pair_tokens = second.text_tokens();
  const std::size_t around = first.ids.size() - tokens + second.ids.size() - pair_tokens;
  const auto [kept, pair_kept] = shares(tokens, pair_tokens, text_room(max_tokens_, around));
  prepared.truncated = kept < tokens || pair_kept < pair_tokens;
  first.keep(kept);
  second.keep(pair_kept);
  prepared.ids = std::move(first.ids);
  append(prepared.ids, second.ids);
  prepared.row = pooled_row(prepared.ids, options_.pooling, model_->config().pad);
  return prepared;
}

std::vector<Classification> TextClassifier::classify(std::span<const TextPair> texts) const {
  return classify(std::span<const Prepared>(prepare_all(*this, texts)));
}

std::vector<Classification> TextClassifier::classify(std::span<const Prepared> texts) const {
  std::vector<RowInput> inputs;
  std::vector<Classification> results;
  for (const Prepared& text : texts) {
    inputs.push_back({text.ids, text.row});
    results.push_back({{}, static_cast<std::int64_t>(text.ids.size()), text.truncated});
  }
  const std::vector<std::string>& labels = model_->config().labels;
  const auto keep = [&](std::size_t index, std::span<const float> row) {
    std::vector<float> scores(row.begin(), row.end());
    apply_score_function(function_, scores);
    results[index].labels = best_labels(scores, labels, options_.top);
  };
  run_in_batches(*model_, inputs, options_.limits, keep, options_.cancel);
  return results;
}

}  // namespace linnet
