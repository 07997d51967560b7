#include "engine/beam_run.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/stop_rules.h"
#include "engine/text_output.h"

namespace linnet {
namespace {

BeamOptions options_of(const Request& request, const RunParts& parts) {
  BeamOptions options = *request.beams;
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  options.stop_ids = request.config.stop_ids;
  if (const auto limit = request.config.new_token_limit(request.prompt.size())) {
    options.max_new_tokens = std::min(parts.context - prompt, *limit);
  } else {
    // Until the context is full, or the cache by all beams together.
    const std::int64_t blocks = parts.pool->capacity() - KvCache::blocks_for(prompt);
    const std::int64_t each =
        std::max<std::int64_t>(blocks / std::max<std::int64_t>(options.beams, 1) - 1, 0);
    options.max_new_tokens = std::min(parts.context - prompt, each * KvCache::kBlockPositions);
  }
  if (request.answers > options.beams) {
    fail(ErrorCode::invalid_argument, "more answers than beams");
  }
  return options;
}

}  // namespace

BeamRun::BeamRun(Request request, std::int64_t number, std::shared_ptr<Ticket> ticket,
                 const RunParts& parts)
    : RequestRun(std::move(request), number, std::move(ticket), parts),
      options_(options_of(this->request(), parts)),
      search_(options_),
      prompt_(static_cast<std::int64_t>(this->request().prompt.size())) {}

std::int64_t BeamRun::most_blocks() const {
  // They need each other's next step, so all must have room at once.
  return KvCache::blocks_for(prompt_) +
         most_sequences() * (KvCache::blocks_for(options_.max_new_tokens) + 1);
}

void BeamRun::begin(Scheduler& scheduler) {
  if (options_.max_new_tokens == 0) return;
  rows_.push_back({new_sequence(0), ProcessorChain(request().config)});
  rows_.front().sequence->slots = most_sequences();
  scores_.resize(static_cast<std::size_t>(parts().model->program().vocab));
  scheduler.add(rows_.front().sequence);
}

void BeamRun::advance(Sequence& sequence, std::int64_t, std::span<const float> logits,
                      std::span<const float>) {
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&](const Row& each) { return each.sequence.get() == &sequence; });
  const std::vector<float> scores = log_probabilities(logits);
  const auto at = static_cast<std::size_t>(row - rows_.begin()) * logits.size();
  const auto out = std::span(scores_).subspan(at, logits.size());
  std::copy(scores.begin(), scores.end(), out.begin());
  row->processors.process(sequence.ids, static_cast<std::size_t>(prompt_), out);
  sequence.waits = true;
}

// A stop string in the text of the beam's own ids.
bool BeamRun::ends(const Beam& candidate) const {
  const Request& request = this->request();
  const std::vector<TokenId>& ids = rows_[static_cast<std::size_t>(candidate.parent)].sequence->ids;
  TextOutput output(parts().tokenizer, request.config.stop_strings, request.keep_special);
  for (std::size_t i = request.prompt.size(); i < ids.size(); ++i) output.push(ids[i]);
  output.push(candidate.token);
  return output.stopped();
}

void BeamRun::go_on(Scheduler& scheduler, std::span<const Beam> beams) {
  std::vector<Row> next;
  for (const Beam& beam : beams) {
    const Row& parent = rows_[static_cast<std::size_t>(beam.parent)];
    auto sequence = std::make_shared<Sequence>(*parent.sequence);
    sequence->order.index = ++generation_;
    sequence->slots = 1;
    sequence->waits = false;
    sequence->ids.push_back(beam.token);
    next.push_back({std::move(sequence), parent.processors});
    scheduler.add_fork(*parent.sequence, next.back().sequence);
  }
  for (const Row& row : rows_) scheduler.remove(*row.sequence, false);
  rows_ = std::move(next);
  scores_.resize(rows_.size() * static_cast<std::size_t>(parts().model->program().vocab));
}

bool BeamRun::publish(Scheduler& scheduler) {
  if (rows_.empty()) return true;
  if (std::any_of(rows_.begin(), rows_.end(),
                  [](const Row& row) { return !row.sequence->waits; })) {
    return false;
  }
  BeamSearch::Ends ends;
  if (!request().config.stop_strings.empty()) {
    ends = [this](const Beam& candidate) { return this->ends(candidate); };
  }
  const auto beams = search_.advance(scores_, ends);
  if (search_.is_done()) return true;
  go_on(scheduler, beams);
  return false;
}

void BeamRun::end_all(Scheduler&, FinishReason reason) { ended_early_ = reason; }

void BeamRun::remove_all(Scheduler& scheduler) {
  for (const Row& row : rows_) scheduler.remove(*row.sequence, true);
  rows_.clear();
}

std::vector<GenerationResult> BeamRun::results() {
  std::vector<GenerationResult> results;
  const Request& request = this->request();
  for (BeamResult& beam : search_.results(request.answers)) {
    GenerationResult result;
    TextOutput output(parts().tokenizer, request.config.stop_strings, request.keep_special);
    const bool is_stop = !beam.ids.empty() && is_stop_id(request.config.stop_ids, beam.ids.back());
    for (std::size_t i = 0; i < beam.ids.size(); ++i) {
      const bool is_end = i + 1 == beam.ids.size();
      std::string text = is_end && is_stop ? std::string() : output.push(beam.ids[i]);
      if (is_end) text += output.finish();
      result.text += text;
      if (request.on_token) {
        TokenEvent event;
        event.id = beam.ids[i];
        event.text = text;
        event.answer = std::ssize(results);
        request.on_token(event);
      }
    }
    const bool stopped = is_stop || output.stopped();
    result.finish = ended_early_.value_or(stopped ? FinishReason::stop : FinishReason::length);
    result.ids = std::move(beam.ids);
    result.score = beam.score;
    result.beam_rows = std::move(beam.beams);
    result.seed = seed();
    result.prompt_tokens = prompt_;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace linnet
