#include "model/forward.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace linnet {
namespace {

class ForwardCall {
 public:
  ForwardCall(const Model& model, const ForwardRequest& request)
      : model_(model), request_(request), input_(request.input), config_(model.config()) {
    check_request();
    ragged_ = make_ragged(input_);
    outputs_.batch = input_.batch;
    outputs_.columns = request.last_columns.value_or(input_.length);
    select_rows();
    open_caches();
  }

  ForwardOutputs run() {
    const Program& program = model_.program();
    outputs_.width = program.values[static_cast<std::size_t>(program.output)].width;
    allocate();
    Batch batch;
    batch.tokens = ragged_.tokens;
    batch.embeddings = ragged_.embeddings;
    batch.positions = ragged_.positions;
    batch.columns = ragged_.columns;
    batch.sequences = sequences_;
    batch.selected = selected_;
    batch.head_mask = request_.head_mask;
    place_logits(model_.run(batch, run_options()));
    return std::move(outputs_);
  }

 private:
  bool is_pooled() const { return config_.task_head == TaskHead::sequence_classification; }

  void check_request() const {
    check_padded(input_);
    if (!input_.embeddings.empty() && input_.hidden != config_.hidden) {
      fail(ErrorCode::invalid_argument,
           fmt::format("embeddings: [{}, {}, {}] given, the model is {} wide", input_.batch,
                       input_.length, input_.hidden, config_.hidden));
    }
    for (std::size_t i = 0; i < input_.tokens.size(); ++i) check_id(i);
    const std::int64_t last = request_.last_columns.value_or(input_.length);
    if (last < 0 || last > input_.length || (request_.last_columns && is_pooled())) {
      fail(ErrorCode::invalid_argument,
           fmt::format("logits of the last {} columns of {}{}", last, input_.length,
                       is_pooled() ? ": sequence classification pools one row of each" : ""));
    }
  }

  void check_id(std::size_t cell) const {
    const std::int64_t id = input_.tokens[cell];
    if (id >= 0 && id < config_.vocab) return;
    if (!input_.mask.empty() && input_.mask[cell] == 0) return;  // never looked at
    const auto index = static_cast<std::int64_t>(cell);
    fail(ErrorCode::invalid_argument,
         fmt::format("token id {} in row {}, column {} is outside of the vocabulary of {}", id,
                     index / input_.length, index % input_.length, config_.vocab));
  }

  // Rows whose logits are wanted, and where they go: `destinations_` are row numbers of the output.
  void select_rows() {
    if (is_pooled()) {
      outputs_.pooled_columns = pooled_columns(input_, request_.pooling, config_.pad);
      outputs_.columns = 1;
    }
    const std::int64_t first = input_.length - outputs_.columns;
    for (std::size_t i = 0; i < ragged_.source_rows.size(); ++i) {
      const std::int64_t row = ragged_.source_rows[i] / input_.length;
      const std::int64_t column = ragged_.source_rows[i] % input_.length;
      const bool wanted = is_pooled()
                              ? outputs_.pooled_columns[static_cast<std::size_t>(row)] == column
                              : column >= first;
      if (!wanted) continue;
      selected_.push_back(static_cast<std::int32_t>(i));
      destinations_.push_back(is_pooled() ? row : row * outputs_.columns + column - first);
    }
  }

  void open_caches() {
    const std::size_t count = ragged_.row_counts.size();
    if (request_.caches.empty()) {
      if (input_.past_columns > 0) {
        fail(ErrorCode::invalid_argument,
             fmt::format("{} past columns, but no caches that hold them", input_.past_columns));
      }
      for (std::size_t i = 0; i < count; ++i) own_caches_.push_back(model_.make_cache());
    } else if (request_.caches.size() != count) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{} caches for {} sequences", request_.caches.size(), count));
    }
    const std::span<KvCache> caches =
        request_.caches.empty() ? std::span<KvCache>(own_caches_) : request_.caches;
    for (std::size_t i = 0; i < count; ++i) {
      check_past(caches[i], i);
      sequences_.push_back({&caches[i], ragged_.row_counts[i]});
    }
  }

  void check_past(KvCache& cache, std::size_t index) const {
    if (cache.length() == 0 || cache.column(cache.length() - 1) < input_.past_columns) return;
    fail(ErrorCode::invalid_argument,
         fmt::format("cache {} already holds column {}, so past_columns must be above it, not {}",
                     index, cache.column(cache.length() - 1), input_.past_columns));
  }

  void allocate() {
    const std::int64_t cells = input_.batch * input_.length;
    if (request_.hidden_states)
      outputs_.hidden_states.resize(size_of((config_.layers + 2) * cells, config_.hidden));
    if (request_.attentions) {
      outputs_.attentions.resize(
          size_of(config_.layers * config_.heads * cells, input_.past_columns + input_.length));
    }
  }

  // Refused before the machine's memory is.
  static std::size_t size_of(std::int64_t rows, std::int64_t width) {
    return static_cast<std::size_t>(checked_mul(static_cast<std::uint64_t>(rows),
                                                static_cast<std::uint64_t>(width), "outputs"));
  }

  RunOptions run_options() {
    RunOptions options;
    options.cancel = request_.cancel;
    if (request_.hidden_states) {
      options.on_value = [this](const Step& step, std::span<const float> rows, std::int64_t) {
        keep_hidden_state(step, rows);
      };
    }
    if (request_.attentions) {
      options.on_attention = [this](const Step& step, std::int64_t row, std::int64_t head,
                                    std::span<const float> p) {
        keep_attention(step, row, head, p);
      };
    }
    return options;
  }

  void keep_hidden_state(const Step& step, std::span<const float> rows) {
    const std::vector<ValueId>& ids = model_.program().hidden_states;
    const auto found = std::find(ids.begin(), ids.end(), step.output);
    if (found == ids.end()) return;
    const std::int64_t plane = found - ids.begin(), hidden = config_.hidden;
    for (std::size_t i = 0; i < ragged_.source_rows.size(); ++i) {
      const std::int64_t row = plane * input_.batch * input_.length + ragged_.source_rows[i];
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i) * hidden, hidden,
                  outputs_.hidden_states.begin() + row * hidden);
    }
  }

  // Called from several threads, each with rows and heads of its own.
  void keep_attention(const Step& step, std::int64_t row, std::int64_t head,
                      std::span<const float> p) {
    const std::int64_t source = ragged_.source_rows[static_cast<std::size_t>(row)];
    const std::int64_t batch_row = source / input_.length, query = source % input_.length;
    const std::int64_t keys = input_.past_columns + input_.length;
    const std::int64_t place =
        ((step.layer * input_.batch + batch_row) * config_.heads + head) * input_.length + query;
    KvCache& cache = *sequences_[sequence_of(row)].cache;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const std::int64_t column = cache.column(static_cast<std::int64_t>(i));
      outputs_.attentions[static_cast<std::size_t>(place * keys + column)] = p[i];
    }
  }

  std::size_t sequence_of(std::int64_t row) const {
    std::size_t index = 0;
    while (row >= ragged_.row_counts[index]) row -= ragged_.row_counts[index++];
    return index;
  }

  void place_logits(const std::vector<float>& rows) {
    const std::int64_t width = outputs_.width;
    std::vector<float> placed(size_of(outputs_.batch * outputs_.columns, width));
    for (std::size_t i = 0; i < destinations_.size(); ++i) {
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i) * width, width,
                  placed.begin() + destinations_[i] * width);
    }
    if (config_.task_head != TaskHead::question_answering) {
      outputs_.logits = std::move(placed);
      return;
    }
    for (std::size_t i = 0; i < placed.size(); i += 2) {
      outputs_.start_logits.push_back(placed[i]);
      outputs_.end_logits.push_back(placed[i + 1]);
    }
  }

  const Model& model_;
  const ForwardRequest& request_;
  const PaddedBatch& input_;
  const ModelConfig& config_;
  RaggedBatch ragged_;
  std::vector<std::int32_t> selected_;      // indices of ragged rows
  std::vector<std::int64_t> destinations_;  // [selected]: rows of the output
  std::vector<KvCache> own_caches_;
  std::vector<SequenceRows> sequences_;
  ForwardOutputs outputs_;
};

}  // namespace

ForwardOutputs forward(const Model& model, const ForwardRequest& request) {
  return ForwardCall(model, request).run();
}

}  // namespace linnet
