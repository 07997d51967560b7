#include "quantize/measure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "tensor/functions.h"

namespace linnet {
namespace {

constexpr std::int64_t kLogitBytes = std::int64_t{32} << 20;  // of one model at once

// One row of logits as a distribution: log p(i) = logits[i] - log_sum.
struct Row {
  const float* logits;
  std::int64_t vocab;
  std::int64_t best = 0;
  double log_sum = 0;

  Row(const float* row, std::int64_t count) : logits(row), vocab(count) {
    best = std::max_element(row, row + count) - row;
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      sum += static_cast<double>(exp_f32(row[i] - row[best]));
    }
    log_sum = std::log(sum) + static_cast<double>(row[best]);
  }
  double log_of(std::int64_t id) const { return static_cast<double>(logits[id]) - log_sum; }
};

double divergence_of(const Row& p, const Row& q) {
  double sum = 0;
  for (std::int64_t i = 0; i < p.vocab; ++i) {
    const double log_p = p.log_of(i);
    if (log_p < -80) continue;
    sum += static_cast<double>(exp_f32(static_cast<float>(log_p))) * (log_p - q.log_of(i));
  }
  return std::max(sum, 0.0);  // rounding may make a tiny one negative
}

Mean mean_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  if (values.empty()) return {};
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, count > 1 ? std::sqrt(squares / (count - 1) / count) : 0};
}

double percentile_99(std::vector<double> values) {
  const std::size_t index = (values.size() * 99 + 99) / 100 - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return values[index];
}

// A model that reads one window after the other, a few rows at once.
class Reader {
 public:
  explicit Reader(const Model& model) : model_(model), cache_(model.make_cache()) {}

  void begin(std::int64_t tokens) {
    cache_.truncate(0);
    cache_.declare_length(tokens);
  }
  // The rows that follow; their logits stay until the next call.
  void read(std::span<const std::int32_t> ids, const MeasureOptions& options) {
    const auto count = static_cast<std::int32_t>(ids.size());
    std::vector<std::int32_t> positions(ids.size()), selected(ids.size());
    std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(cache_.length()));
    std::iota(selected.begin(), selected.end(), 0);
    const SequenceRows sequence{&cache_, count};
    Batch batch;
    batch.tokens = ids;
    batch.positions = positions;
    batch.sequences = {&sequence, 1};
    batch.selected = selected;
    RunOptions run;
    run.cancel = options.cancel;
    if (options.layers) {
      hidden_.clear();
      run.on_hidden = [this](std::size_t index, std::span<const float> rows) {
        hidden_.resize(std::max(hidden_.size(), index + 1));
        hidden_[index].insert(hidden_[index].end(), rows.begin(), rows.end());
      };
    }
    logits_ = model_.run(batch, run);
  }
  Row row(std::int64_t index) const { return {&logits_[at(index)], model_.program().vocab}; }
  // Of the embedding, then of each layer: [rows, hidden].
  const std::vector<std::vector<float>>& hidden() const { return hidden_; }

 private:
  std::size_t at(std::int64_t index) const {
    return static_cast<std::size_t>(index * model_.program().vocab);
  }

  const Model& model_;
  KvCache cache_;
  std::vector<float> logits_;
  std::vector<std::vector<float>> hidden_;
};

class Measuring {
 public:
  Measuring(const Model& model, const Model* reference, const MeasureOptions& options)
      : options_(options), model_(model), pool_(model.pool()) {
    if (reference != nullptr) reference_.emplace(*reference);
  }

  void read_window(std::span<const std::int32_t> ids, std::int64_t chunk) {
    model_.begin(static_cast<std::int64_t>(ids.size()));
    if (reference_) reference_->begin(static_cast<std::int64_t>(ids.size()));
    for (std::size_t first = 0; first < ids.size(); first += static_cast<std::size_t>(chunk)) {
      const std::size_t count = std::min(static_cast<std::size_t>(chunk), ids.size() - first);
      model_.read(ids.subspan(first, count), options_);
      if (reference_) reference_->read(ids.subspan(first, count), options_);
      add_rows(ids, first, count);
      if (options_.layers && reference_) add_layers();
    }
  }

  Measurement result() const {
    Measurement out;
    out.predictions = static_cast<std::int64_t>(losses_.size());
    out.loss = mean_of(losses_);
    if (!reference_) return out;
    Divergence& divergence = out.divergence.emplace();
    divergence.reference_loss = mean_of(reference_losses_);
    divergence.kl = mean_of(divergences_);
    divergence.kl_p99 = percentile_99(divergences_);
    divergence.top1_agreement = static_cast<double>(agreements_) / count_of(divergences_);
    for (std::size_t i = 0; i < layer_squares_.size(); ++i) {
      const double all = layer_squares_[i];
      divergence.layer_errors.push_back(all > 0 ? std::sqrt(layer_differences_[i] / all) : 0);
    }
    return out;
  }

 private:
  static double count_of(const std::vector<double>& values) {
    return static_cast<double>(values.size());
  }

  struct Scores {
    double loss = 0, reference_loss = 0, divergence = 0;
    bool agrees = false;
  };

  void add_rows(std::span<const std::int32_t> ids, std::size_t first, std::size_t count) {
    std::vector<Scores> scores(count);
    pool_.parallel_for(static_cast<std::int64_t>(count), 1,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t row = begin; row < end; ++row) {
                           const auto i = static_cast<std::size_t>(row);
                           const std::size_t next = first + i + 1;
                           scores[i] = score(row, next < ids.size() ? ids[next] : 0);
                         }
                       });
    for (std::size_t i = 0; i < count; ++i) {
      const bool has_next = first + i + 1 < ids.size();
      if (has_next) losses_.push_back(scores[i].loss);
      if (!reference_) continue;
      if (has_next) reference_losses_.push_back(scores[i].reference_loss);
      divergences_.push_back(scores[i].divergence);
      agreements_ += scores[i].agrees ? 1 : 0;
    }
  }

  Scores score(std::int64_t row, std::int32_t next) const {
    const Row q = model_.row(row);
    Scores scores;
    scores.loss = -q.log_of(next);
    if (!reference_) return scores;
    const Row p = reference_->row(row);
    scores.reference_loss = -p.log_of(next);
    scores.divergence = divergence_of(p, q);
    scores.agrees = p.best == q.best;
    return scores;
  }

  void add_layers() {
    const auto& ours = model_.hidden();
    const auto& theirs = reference_->hidden();
    LINNET_CHECK(ours.size() == theirs.size());
    layer_squares_.resize(ours.size());
    layer_differences_.resize(ours.size());
    for (std::size_t layer = 0; layer < ours.size(); ++layer) {
      for (std::size_t i = 0; i < ours[layer].size(); ++i) {
        const double exact = static_cast<double>(theirs[layer][i]);
        const double away = static_cast<double>(ours[layer][i]) - exact;
        layer_squares_[layer] += exact * exact;
        layer_differences_[layer] += away * away;
      }
    }
  }

  const MeasureOptions& options_;
  Reader model_;
  std::optional<Reader> reference_;
  ThreadPool& pool_;
  std::vector<double> losses_, reference_losses_, divergences_;
  std::int64_t agreements_ = 0;
  std::vector<double> layer_squares_, layer_differences_;
};

void check(const Model& model, const Model* reference, std::span<const std::int32_t> ids,
           const MeasureOptions& options) {
  const Program& program = model.program();
  if (model.config().task_head != TaskHead::causal_lm) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: only a model with a next-token head can be measured, this one has {}",
                     model.config().name, task_head_name(model.config().task_head)));
  }
  if (ids.size() < 2) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the text has {} tokens; two at least are needed", ids.size()));
  }
  if (options.window < 2 || options.window > model.config().context()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("a window of {} tokens: it must be from 2 to the model's context of {}",
                     options.window, model.config().context()));
  }
  if (reference == nullptr) return;
  const Program& other = reference->program();
  if (other.vocab != program.vocab) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} has {} tokens, {} has {}: only models of one vocabulary can be compared",
                     model.config().name, program.vocab, reference->config().name, other.vocab));
  }
  if (options.layers && (other.layers != program.layers || other.hidden != program.hidden)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} has {} layers of {}, {} has {} of {}: they have no layers to compare",
                     model.config().name, program.layers, program.hidden, reference->config().name,
                     other.layers, other.hidden));
  }
}

}  // namespace

Measurement measure(const Model& model, const Model* reference, std::span<const std::int32_t> ids,
                    const MeasureOptions& options) {
  check(model, reference, ids, options);
  const std::int64_t row_bytes = model.program().vocab * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t chunk = std::clamp<std::int64_t>(kLogitBytes / row_bytes, 1, options.window);
  Measuring measuring(model, reference, options);
  const auto window = static_cast<std::size_t>(options.window);
  for (std::size_t first = 0; first < ids.size(); first += window) {
    const std::size_t count = std::min(window, ids.size() - first);
    if (count < 2) break;
    measuring.read_window(ids.subspan(first, count), chunk);
    if (options.on_progress) {
      options.on_progress(static_cast<double>(first + count) / static_cast<double>(ids.size()));
    }
  }
  return measuring.result();
}

}  // namespace linnet
