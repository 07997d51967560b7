#include "cli/batch_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "cli/interrupt.h"

namespace linnet {
namespace {

// With answers that are limited the cache should hold all that run.
constexpr std::int64_t kPositions = 1024;
constexpr std::int64_t kMostSequences = 64;  // of one line
// Records that wait for an earlier line, for each sequence at a time.
constexpr std::int64_t kHeld = 16;

std::unique_ptr<BatchEngine> make_engine(const Assistant& assistant, std::int64_t parallel) {
  const std::int64_t context = assistant.model->context();
  EngineOptions options;
  options.scheduler.most_running = std::max(parallel, kMostSequences);
  options.cache_positions = std::max(context, std::min(context, kPositions) * parallel);
  return std::make_unique<BatchEngine>(assistant.model, assistant.tokenizer, options);
}

}  // namespace

BatchRun::BatchRun(const BatchSettings& settings, std::int64_t parallel, bool ordered,
                   BatchInput& input, BatchOutput& output, const Terminal& terminal)
    : settings_(settings),
      settings_checksum_(settings.checksum()),
      parallel_(parallel),
      ordered_(ordered),
      input_(input),
      output_(output),
      bar_("Answering", terminal, ProgressBar::Eta::shown),
      engine_(make_engine(*settings.assistant, parallel)) {}

void BatchRun::run() {
  engine_->start();
  while (!interrupt_flag().load()) {
    fill();
    collect();
    if (is_at_end_ && open_.empty() && !next_) break;
    wait();
  }
  collect();
  bar_.erase();
  output_.finish();
}

// Lines go to the engine as long as there is room for them, and one more is made ready.
void BatchRun::fill() {
  while (!interrupt_flag().load()) {
    if (!next_) {
      const bool is_far_ahead = turns_ - written_ >= kHeld * parallel_;
      if (is_at_end_ || (ordered_ && is_far_ahead)) return;
      if (!open_.empty() && !input_.ready()) return;
      if (!read_line()) continue;
    }
    if (!has_room(next_->job->sequences())) return;
    submit();
  }
}

bool BatchRun::has_room(std::int64_t sequences) const {
  return open_.empty() || open_sequences_ + sequences <= parallel_;
}

// False when there is no request in it, or no line.
bool BatchRun::read_line() {
  std::string line;
  std::optional<Error> fault;
  try {
    if (!input_.next(line)) {
      is_at_end_ = true;
      return false;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    fault = error;
  }
  if (!fault && line.find_first_not_of(" \t\r") == std::string::npos) return false;
  Open open;
  open.job =
      std::make_unique<BatchJob>(settings_, settings_checksum_, input_.number(), std::move(line));
  const std::string& id = open.job->id();
  const bool is_new = id.empty() || ids_.insert(checksum64(std::as_bytes(std::span(id)))).second;
  if (is_skipped(*open.job)) return false;
  open.turn = turns_++;
  try {
    if (fault) throw *fault;
    if (!is_new) {
      fail(ErrorCode::invalid_argument, fmt::format("the id {} is that of an earlier line", id));
    }
    open.request = open.job->make_request();
  } catch (const Error& error) {
    fail_line(open, error);
    return false;
  }
  next_ = std::move(open);
  return true;
}

bool BatchRun::is_skipped(const BatchJob& job) {
  const auto before = output_.finished(job.number());
  if (!before) return false;
  if (*before != job.checksum()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: its record of line {} belongs to another line than that of {}, or to "
                     "other options or another model: give another --output, or --overwrite",
                     output_.name(), job.number(), input_.name()));
  }
  ++counts_.skipped;
  done_bytes_ += job.bytes();
  return true;
}

void BatchRun::submit() {
  Open open = std::move(*next_);
  next_.reset();
  const std::int64_t line = open.job->number();
  open.request.cancel = &interrupt_flag();
  open.request.on_end = [this, line](const RequestResult*, const std::exception_ptr&) {
    const std::lock_guard lock(mutex_);
    ended_.push_back(line);
    changed_.notify_one();
  };
  try {
    open.ticket = engine_->submit(std::move(open.request));
  } catch (const Error& error) {
    return fail_line(open, error);
  }
  open_sequences_ += open.job->sequences();
  open_.emplace(line, std::move(open));
}

void BatchRun::collect() {
  std::vector<std::int64_t> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (const std::int64_t line : ended) {
    const auto found = open_.find(line);
    open_sequences_ -= found->second.job->sequences();
    take_result(found->second);
    open_.erase(found);
  }
  if (!ended.empty()) show_progress();
}

void BatchRun::take_result(Open& open) {
  RequestResult result;
  try {
    result = open.ticket->get();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) fail_line(open, error);
    return;
  }
  // Interrupted: the next run does it anew.
  for (const GenerationResult& answer : result.answers) {
    if (answer.finish == FinishReason::cancelled) return;
  }
  ++counts_.answered;
  for (const GenerationResult& answer : result.answers) {
    counts_.answer_tokens += std::ssize(answer.ids);
    counts_.drafted_tokens += answer.drafted_tokens;
    counts_.accepted_tokens += answer.accepted_tokens;
  }
  counts_.prompt_tokens += result.answers.front().prompt_tokens;
  counts_.cached_tokens += result.answers.front().cached_tokens;
  emit(open, open.job->record(std::move(result)));
}

void BatchRun::fail_line(const Open& open, const Error& error) {
  ++counts_.failed;
  emit(open, open.job->record(error));
}

void BatchRun::emit(const Open& open, std::string record) {
  done_bytes_ += open.job->bytes();
  if (!ordered_) return output_.write(record);
  held_.emplace(open.turn, std::move(record));
  while (!held_.empty() && held_.begin()->first == written_) {
    output_.write(held_.begin()->second);
    held_.erase(held_.begin());
    ++written_;
  }
}

// For the end of a request. More input, and an interruption, are looked for now and then.
void BatchRun::wait() {
  using std::chrono::milliseconds;
  const bool wants_input = !is_at_end_ && !next_;
  if (open_.empty()) return;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, milliseconds(wants_input ? 5 : 50), [&] { return !ended_.empty(); });
}

void BatchRun::show_progress() {
  if (input_.size() == 0) return;
  const double rate = static_cast<double>(counts_.answer_tokens) / seconds_since(start_);
  bar_.set_label(fmt::format("Answering, {:.0f} tokens/s", rate));
  bar_.update(static_cast<double>(done_bytes_) / static_cast<double>(input_.size()));
}

}  // namespace linnet
