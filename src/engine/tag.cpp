#include "engine/tag.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/label_scores.h"
#include "engine/prepare_all.h"

namespace linnet {
namespace {

// Which rows of a window are taken, and for which text.
struct WindowPlace {
  std::size_t text;
  std::size_t skip;  // not of the text, or given by the window before
  std::size_t take;
};

// The logits of all tokens of each text, [tokens, labels], joined from those of its windows.
class JoinedLogits {
 public:
  JoinedLogits(std::size_t texts, std::size_t width) : rows_(texts), width_(width) {}

  void add_window(WindowPlace place) { places_.push_back(place); }

  void add_rows(std::size_t window, std::span<const float> rows) {
    WindowPlace& place = places_[window];
    const std::size_t count = rows.size() / width_;
    const std::size_t skipped = std::min(place.skip, count);
    const std::size_t taken = std::min(place.take, count - skipped);
    place.skip -= skipped;
    place.take -= taken;
    const auto part = rows.subspan(skipped * width_, taken * width_);
    rows_[place.text].insert(rows_[place.text].end(), part.begin(), part.end());
  }

  std::vector<float>& of_text(std::size_t text) { return rows_[text]; }

 private:
  std::vector<WindowPlace> places_;
  std::vector<std::vector<float>> rows_;
  std::size_t width_;
};

}  // namespace

TextTagger::TextTagger(std::shared_ptr<const Model> model,
                       std::shared_ptr<const Tokenizer> tokenizer, TagOptions options)
    : model_(std::move(model)),
      encoder_(model_, std::move(tokenizer), options.trust_text),
      options_(std::move(options)),
      window_(checked_max_tokens(*model_, options_.window)) {
  const TaskHead head = model_->config().task_head;
  if (head != TaskHead::token_classification && head != TaskHead::sequence_classification) {
    fail(
        ErrorCode::invalid_argument,
        fmt::format("tagging reads labels, but the model was opened with the head {}: open it with "
                    "token_classification",
                    task_head_name(head)));
  }
  if (options_.stride < 0) {
    fail(ErrorCode::invalid_argument, fmt::format("stride: {} tokens", options_.stride));
  }
}

TextTagger::Prepared TextTagger::prepare(const std::string& text) const {
  Prepared prepared{encoder_.encode(text), {}, {}};
  const TaskText& encoded = prepared.text;
  const std::size_t room =
      std::max<std::size_t>(1, text_room(window_, encoded.before + encoded.after));
  const std::size_t overlap = std::min(static_cast<std::size_t>(options_.stride), room / 2);
  prepared.windows = make_windows(encoded.text_tokens(), room, overlap);
  for (const Window& window : prepared.windows) prepared.ids.push_back(encoded.window_ids(window));
  return prepared;
}

std::vector<Tagging> TextTagger::tag(std::span<const std::string> texts) const {
  return tag(std::span<const Prepared>(prepare_all(*this, texts)));
}

std::vector<Tagging> TextTagger::tag(std::span<const Prepared> texts) const {
  const std::vector<std::string>& labels = model_->config().labels;
  std::vector<RowInput> inputs;
  JoinedLogits joined(texts.size(), labels.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::size_t done = 0;
    for (std::size_t j = 0; j < texts[i].windows.size(); ++j) {
      const Window window = texts[i].windows[j];
      inputs.push_back({texts[i].ids[j], std::nullopt});
      joined.add_window({i, texts[i].text.before + done - window.begin, window.end - done});
      done = window.end;
    }
  }
  const auto keep = [&](std::size_t window, std::span<const float> rows) {
    joined.add_rows(window, rows);
  };
  run_in_batches(*model_, inputs, options_.limits, keep, options_.cancel);
  std::vector<Tagging> results;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<float>& scores = joined.of_text(i);
    for (std::size_t row = 0; row < scores.size(); row += labels.size())
      apply_score_function(ScoreFunction::softmax, std::span(scores).subspan(row, labels.size()));
    const Prepared& text = texts[i];
    results.push_back(
        {merge_tags(text.text, {scores, labels}, options_.aggregation, options_.ignored),
         static_cast<std::int64_t>(text.text.text_tokens()),
         static_cast<std::int64_t>(text.windows.size())});
    scores = {};  // not needed any more, and large
  }
  return results;
}

}  // namespace linnet
