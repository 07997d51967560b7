#include "engine/runner.h"

#include <algorithm>

#include "native/stream.h"

namespace linnet {

std::vector<SequenceLogits> Runner::run(std::span<const PlannedRows> plan,
                                        const std::atomic<bool>* cancel) {
  tokens_.clear(), positions_.clear(), selected_.clear(), sequences_.clear();
  std::vector<SequenceLogits> out;
  for (const PlannedRows& each : plan) {
    Sequence& sequence = *each.sequence;
    const std::int64_t begin = sequence.computed(), end = begin + each.rows();
    const auto ids =
        std::span(sequence.ids)
            .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(each.ids));
    const std::int64_t first = std::max(begin, sequence.first_output());
    for (std::int64_t i = first; i < end; ++i) {
      selected_.push_back(
          static_cast<std::int32_t>(static_cast<std::int64_t>(tokens_.size()) + i - begin));
    }
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
    tokens_.insert(tokens_.end(), sequence.drafts.begin(), sequence.drafts.begin() + each.drafts);
    for (std::int64_t i = begin; i < end; ++i) positions_.push_back(static_cast<std::int32_t>(i));
    sequences_.push_back({&sequence.cache, each.rows()});
    out.push_back({each, first, {}});
  }
  Batch batch;
  batch.tokens = tokens_;
  batch.positions = positions_;
  batch.sequences = sequences_;
  batch.selected = selected_;
  RunOptions options;
  options.cancel = cancel;
  hidden_.clear();
  if (std::any_of(plan.begin(), plan.end(),
                  [](const PlannedRows& each) { return each.sequence->wants_hidden; })) {
    options.on_output_input = [&](std::span<const float> rows) {
      hidden_.insert(hidden_.end(), rows.begin(), rows.end());
    };
  }
  logits_ = call_on_current_stream([&] { return model_.run(batch, options); });
  const auto vocab = static_cast<std::size_t>(model_.program().vocab);
  const auto width = static_cast<std::size_t>(model_.program().hidden);
  std::span<const float> left = logits_, hidden_left = hidden_;
  for (SequenceLogits& each : out) {
    const std::int64_t rows =
        std::max<std::int64_t>(0, each.planned.sequence->computed() - each.first);
    each.logits = left.first(static_cast<std::size_t>(rows) * vocab);
    left = left.subspan(each.logits.size());
    if (hidden_.empty()) continue;
    each.hidden = hidden_left.first(static_cast<std::size_t>(rows) * width);
    hidden_left = hidden_left.subspan(each.hidden.size());
  }
  return out;
}

}  // namespace linnet
