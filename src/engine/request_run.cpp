#include "engine/request_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "engine/answers_run.h"
#include "engine/beam_run.h"
#include "engine/contrastive_run.h"
#include "program/program.h"

namespace linnet {
namespace {

// 53 bits: a JSON reader that keeps numbers as doubles can give the seed back unchanged.
std::uint64_t seed_from_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return static_cast<std::uint64_t>(now) & ((std::uint64_t{1} << 53) - 1);
}

void check_prompt(std::span<const TokenId> prompt, const RunParts& parts) {
  if (prompt.empty()) fail(ErrorCode::invalid_argument, "the prompt is empty");
  if (static_cast<std::int64_t>(prompt.size()) >= parts.context) {
    fail(
        ErrorCode::invalid_argument,
        fmt::format("the prompt has {} tokens, the model's context {}: shorten the prompt to leave "
                    "room for an answer",
                    prompt.size(), parts.context));
  }
  const std::int64_t vocab = parts.model->program().vocab;
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || prompt[i] >= vocab) {
      fail(ErrorCode::invalid_argument, fmt::format("prompt id {} at index {} is outside of the "
                                                    "vocabulary of {}",
                                                    prompt[i], i, vocab));
    }
  }
}

void check_request(const Request& request) {
  request.config.check();
  if (request.answers < 1) fail(ErrorCode::invalid_argument, "answers: expected at least 1");
  if (request.beams && request.contrastive) {
    fail(ErrorCode::invalid_argument, "beams and contrastive search: only one of them");
  }
  if ((request.beams || request.contrastive) &&
      (request.config.sample || request.log_probabilities || request.thinking)) {
    fail(ErrorCode::invalid_argument,
         "beams and contrastive search go without sampling, log-probabilities of the answer, and "
         "control of thoughts");
  }
  const std::int64_t top = request.top_log_probabilities;
  if (top < 0 || top > static_cast<std::int64_t>(kMaxTopLogProbs)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("top log-probabilities: expected 0 to {}, found {}", kMaxTopLogProbs, top));
  }
}

}  // namespace

std::unique_ptr<RequestRun> RequestRun::make(Request request, std::int64_t number,
                                             std::shared_ptr<Ticket> ticket,
                                             const RunParts& parts) {
  check_request(request);
  check_prompt(request.prompt, parts);
  if (request.beams) {
    return std::make_unique<BeamRun>(std::move(request), number, std::move(ticket), parts);
  }
  if (request.contrastive) {
    return std::make_unique<ContrastiveRun>(std::move(request), number, std::move(ticket), parts);
  }
  return std::make_unique<AnswersRun>(std::move(request), number, std::move(ticket), parts);
}

RequestRun::RequestRun(Request request, std::int64_t number, std::shared_ptr<Ticket> ticket,
                       const RunParts& parts)
    : request_(std::move(request)),
      number_(number),
      ticket_(std::move(ticket)),
      parts_(parts),
      queued_(Clock::now()) {
  const auto prompt = static_cast<std::int64_t>(request_.prompt.size());
  most_new_ = parts_.context - prompt;
  if (const auto limit = request_.config.new_token_limit(request_.prompt.size())) {
    most_new_ = std::min(most_new_, *limit);
  }
  seed_ = request_.config.seed ? *request_.config.seed : seed_from_clock();
}

std::shared_ptr<Sequence> RequestRun::new_sequence(std::int64_t index) const {
  auto sequence = std::make_shared<Sequence>(parts_.model->lane().cache_in(parts_.pool));
  sequence->order = {request_.priority, number_, index};
  sequence->caller = request_.caller;
  sequence->ids = request_.prompt;
  sequence->prompt = static_cast<std::int64_t>(request_.prompt.size());
  // Sequences of another length would have other rotations.
  const Program& program = parts_.model->program();
  const bool depends = !same_rotations(program, 1, sequence->prompt);
  sequence->partition = {request_.cache_salt, depends ? sequence->prompt : 0};
  sequence->most_rows = request_.prompt_rows;
  if (request_.prompt_log_probabilities) sequence->first_wanted = 0;
  return sequence;
}

void RequestRun::take_prompt_logits(std::int64_t first, std::span<const float> logits) {
  const auto vocab = static_cast<std::size_t>(parts_.model->program().vocab);
  for (std::size_t row = 0; (row + 1) * vocab <= logits.size(); ++row) {
    const std::size_t next = static_cast<std::size_t>(first) + row + 1;
    if (next >= request_.prompt.size()) return;
    if (next <= prompt_log_probabilities_.size()) continue;  // computed again
    prompt_log_probabilities_.push_back(
        row_log_probabilities(logits.subspan(row * vocab, vocab), request_.prompt[next],
                              static_cast<std::size_t>(request_.top_log_probabilities)));
  }
}

void RequestRun::take_logits(const SequenceLogits& given) try {
  Sequence& sequence = *given.planned.sequence;
  const std::int64_t drafts = given.planned.drafts;
  if (request_.prompt_log_probabilities && sequence.first_wanted >= 0) {
    take_prompt_logits(given.first, given.logits);
  }
  take_hidden(given.first, given.hidden);
  if (sequence.pending() + drafts > 0) return;  // in mid-prompt
  sequence.first_wanted = -1;
  const auto rows = static_cast<std::size_t>(1 + drafts);
  const auto vocab = static_cast<std::size_t>(parts_.model->program().vocab);
  advance(sequence, drafts, given.logits.last(rows * vocab), given.hidden);
} catch (...) {
  keep_error();
}

void RequestRun::keep_error() {
  const std::lock_guard lock(error_mutex_);
  if (!error_) error_ = std::current_exception();
}

void RequestRun::note_start() {
  if (!has_started_) started_ = Clock::now();
  has_started_ = true;
}

void RequestRun::note_progress(const Sequence& sequence) try {
  if (is_answering_) return;
  cached_ = sequence.cached;
  const std::int64_t done = std::min(sequence.computed(), sequence.prompt);
  if (done == sequence.prompt) is_answering_ = true, answering_ = Clock::now();
  if (request_.on_prefill) request_.on_prefill(done, sequence.prompt);
} catch (...) {
  keep_error();
}

bool RequestRun::settle(Scheduler& scheduler) {
  std::exception_ptr error;
  try {
    {
      const std::lock_guard lock(error_mutex_);
      error = error_;
    }
    if (!error && !publish(scheduler)) return false;
  } catch (...) {
    error = std::current_exception();
  }
  remove_all(scheduler);
  finish(error);
  return true;
}

void RequestRun::end(Scheduler& scheduler, FinishReason reason) {
  end_all(scheduler, reason);
  remove_all(scheduler);
  finish(nullptr);
}

void RequestRun::fail_with(Scheduler& scheduler, std::exception_ptr error) {
  remove_all(scheduler);
  finish(std::move(error));
}

void RequestRun::finish(std::exception_ptr error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    try {
      error = std::make_exception_ptr(Error(
          ErrorCode::out_of_memory,
          fmt::format("no memory to generate from {} prompt tokens", request_.prompt.size())));
    } catch (const std::bad_alloc&) {
      // Not even for the words: the error stays as it came, and the request has its end.
    }
  } catch (...) {
  }
  RequestResult result;
  try {
    if (!error) result.answers = results();
    if (!error && request_.echo && parts_.tokenizer != nullptr) {
      result.prompt_text = parts_.tokenizer->decode(request_.prompt, !request_.keep_special);
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (!error) {
    const auto now = Clock::now();
    const auto seconds = [](Clock::time_point from, Clock::time_point to) {
      return std::chrono::duration<double>(to - from).count();
    };
    for (GenerationResult& answer : result.answers) {
      answer.cached_tokens = cached_;
      answer.queue_seconds = seconds(queued_, has_started_ ? started_ : now);
      if (has_started_)
        answer.prefill_seconds = seconds(started_, is_answering_ ? answering_ : now);
      if (is_answering_) answer.decode_seconds = seconds(answering_, now);
    }
    result.prompt_log_probabilities = std::move(prompt_log_probabilities_);
  }
  if (request_.on_end) {
    try {
      request_.on_end(error ? nullptr : &result, error);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  ticket_->settle(std::move(result), error);
}

bool RequestRun::is_cancelled() const {
  return cancel_flag().load(std::memory_order_relaxed) ||
         ticket_->cancelled_.load(std::memory_order_relaxed);
}

const std::atomic<bool>& RequestRun::cancel_flag() const {
  return request_.cancel != nullptr ? *request_.cancel : ticket_->cancelled_;
}

}  // namespace linnet
