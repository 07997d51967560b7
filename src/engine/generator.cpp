#include "engine/generator.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "engine/sampler.h"
#include "engine/text_output.h"
#include "native/stream.h"

namespace linnet {
namespace {

// 53 bits: a JSON reader that keeps numbers as doubles can give the seed back unchanged.
std::uint64_t seed_from_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return static_cast<std::uint64_t>(now) & ((std::uint64_t{1} << 53) - 1);
}

std::size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto parted = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(parted.first - a.begin());
}

}  // namespace

Generator::Generator(std::shared_ptr<const Model> model, std::shared_ptr<const Tokenizer> tokenizer)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)), cache_(model_->make_cache()) {}

void Generator::clear() {
  cache_.truncate(0);
  ids_.clear();
}

void Generator::check_prompt(std::span<const TokenId> prompt) const {
  if (prompt.empty()) fail(ErrorCode::invalid_argument, "the prompt is empty");
  const std::int64_t context = model_->context();
  if (static_cast<std::int64_t>(prompt.size()) >= context) {
    fail(
        ErrorCode::invalid_argument,
        fmt::format("the prompt has {} tokens, the model's context {}: shorten the prompt to leave "
                    "room for an answer",
                    prompt.size(), context));
  }
  const std::int64_t vocab = model_->program().vocab;
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || prompt[i] >= vocab) {
      fail(ErrorCode::invalid_argument, fmt::format("prompt id {} at index {} is outside of the "
                                                    "vocabulary of {}",
                                                    prompt[i], i, vocab));
    }
  }
}

std::optional<std::vector<float>> Generator::compute(std::span<const TokenId> ids, bool want_logits,
                                                     const std::atomic<bool>* cancel) {
  std::vector<std::int32_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(ids_.size()));
  const SequenceRows sequence{&cache_, static_cast<std::int64_t>(ids.size())};
  const auto last = static_cast<std::int32_t>(ids.size() - 1);
  Batch batch;
  batch.tokens = ids;
  batch.positions = positions;
  batch.sequences = {&sequence, 1};
  if (want_logits) batch.selected = {&last, 1};
  RunOptions options;
  options.cancel = cancel;
  // Ids first: once the cache has grown nothing may fail.
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  try {
    return call_on_current_stream([&] { return model_->run(batch, options); });
  } catch (const Error& error) {
    ids_.resize(ids_.size() - ids.size());
    if (error.code() == ErrorCode::cancelled) return std::nullopt;
    throw;
  } catch (...) {
    ids_.resize(ids_.size() - ids.size());
    throw;
  }
}

std::optional<std::vector<float>> Generator::prefill(std::span<const TokenId> prompt,
                                                     const GenerateOptions& options,
                                                     GenerationResult& result) {
  // The last prompt token is computed again even when it is cached: its logits are needed.
  std::size_t done = std::min(common_prefix(ids_, prompt), prompt.size() - 1);
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (!same_rotations(model_->program(), cache_.rope_length(), length)) done = 0;
  cache_.truncate(static_cast<std::int64_t>(done));
  ids_.resize(done);
  // Else the first chunk would be taken for the whole sequence.
  if (done == 0) cache_.declare_length(length);
  result.cached_tokens = static_cast<std::int64_t>(done);
  const auto chunk = static_cast<std::size_t>(std::max<std::int64_t>(1, options.prefill_rows));
  while (true) {
    const std::size_t rows = std::min(chunk, prompt.size() - done);
    const bool is_last = done + rows == prompt.size();
    auto logits = compute(prompt.subspan(done, rows), is_last, options.cancel);
    if (!logits) return std::nullopt;
    done += rows;
    if (options.on_prefill) {
      options.on_prefill(static_cast<std::int64_t>(done), static_cast<std::int64_t>(prompt.size()));
    }
    if (is_last) return logits;
  }
}

GenerationResult Generator::generate(std::span<const TokenId> prompt,
                                     const GenerationConfig& config,
                                     const GenerateOptions& options) try {
  config.check();
  check_prompt(prompt);
  GenerationResult result;
  result.seed = config.seed ? *config.seed : seed_from_clock();
  result.prompt_tokens = static_cast<std::int64_t>(prompt.size());
  std::int64_t limit = model_->context() - result.prompt_tokens;
  if (config.max_new_tokens >= 0) limit = std::min(limit, config.max_new_tokens);
  TextOutput output(tokenizer_.get(), config.stop_strings, options.keep_special);
  Sampler sampler(config, result.seed);
  sampler.see(prompt);
  if (limit == 0) {
    result.finish = FinishReason::length;
    return result;
  }

  result.finish = FinishReason::cancelled;  // unless the loop comes to its end
  const auto prefill_start = Clock::now();
  auto logits = prefill(prompt, options, result);
  result.prefill_seconds = seconds_since(prefill_start);
  const auto decode_start = Clock::now();
  while (logits) {
    const TokenId id = sampler.choose(*logits).id;
    result.ids.push_back(id);
    sampler.see({&id, 1});
    const bool is_stop = is_stop_id(config.stop_ids, id);
    std::string text = is_stop ? std::string() : output.push(id);
    const bool is_full = static_cast<std::int64_t>(result.ids.size()) == limit;
    const bool is_end = is_stop || is_full || output.stopped();
    if (is_end) {
      text += output.finish();
      const bool stopped = is_stop || output.stopped();
      result.finish = stopped ? FinishReason::stop : FinishReason::length;
    }
    result.text += text;
    if (options.on_token) options.on_token({id, text});
    if (is_end) break;
    logits = compute({&id, 1}, true, options.cancel);
  }
  if (!result.ids.empty()) result.decode_seconds = seconds_since(decode_start);
  return result;
} catch (const std::bad_alloc&) {
  fail(ErrorCode::out_of_memory,
       fmt::format("no memory to generate from {} prompt tokens", prompt.size()));
}

}  // namespace linnet
