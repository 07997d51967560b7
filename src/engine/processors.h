// What is done to the scores of the next token before one is chosen, in this order. It is that of
// transformers; steps that only llama.cpp (l) has stand where they are there, relative to others.
//
//   sequence bias (also logit bias l, bad words), repetition penalty, presence and frequency
//   penalty l, DRY l, no-repeat n-gram, min length, decay of the length, suppressed ids, those at
//   the beginning, forced first, forced last, forced ids;
//   temperature or dynamic temperature l, top-n-sigma l, top_k, top_p, min_p, typical_p, epsilon,
//   eta, XTC l;
//   the user's own; mirostat l.
//
// Forced ids come after what removes ids, so they win. processors_history.h and
// processors_filters.h name the source of each rule.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/candidates.h"

namespace linnet {

struct GenerationConfig;

// One step over a row of scores. It may have state, as a grammar has: then clone() copies it, for
// another answer to the same prompt or another beam. An engine calls it from threads of the model's
// pool, for one sequence at a time: it must not run the model.
class LogitsProcessor {
 public:
  virtual ~LogitsProcessor() = default;
  // Changes `scores` [vocab] in place; -inf removes an id. `ids` are the prompt, its first
  // `prompt_length` ids, and the answer so far; from call to call they only grow.
  virtual void process(std::span<const TokenId> ids, std::size_t prompt_length,
                       std::span<float> scores) = 0;
  virtual std::unique_ptr<LogitsProcessor> clone() const = 0;
};

// A function as a processor. A clone has a copy of the function.
using LogitsCallback =
    std::function<void(std::span<const TokenId> ids, std::size_t prompt_length, std::span<float>)>;
std::unique_ptr<LogitsProcessor> callback_processor(LogitsCallback callback);

// All steps that a config asks for. A copy is independent of its original.
class ProcessorChain {
 public:
  // The config need not outlive the chain. Under greedy choice the filters are left out, since they
  // never remove the largest; the temperature stays where a user's processor can see it.
  explicit ProcessorChain(const GenerationConfig& config);
  ProcessorChain(const ProcessorChain& other);
  ProcessorChain& operator=(const ProcessorChain& other);
  ProcessorChain(ProcessorChain&&) noexcept;
  ProcessorChain& operator=(ProcessorChain&&) noexcept;
  ~ProcessorChain();

  // Adds a processor of the user's, after all others.
  void add(std::unique_ptr<LogitsProcessor> processor);
  // What all steps leave of a row of logits (for a Sampler) or log-probabilities (for beams), valid
  // until the next call. `xtc` is the uniform draw that decides whether XTC acts (never at 1).
  // Errors: invalid_argument for an id of the config outside of the row, when a processor leaves
  // NaN, and when nothing is left; what a user's processor throws.
  Candidates& run(std::span<const TokenId> ids, std::size_t prompt_length,
                  std::span<const float> scores, float xtc = 1);
  // The same in place, with -inf for what is removed.
  void process(std::span<const TokenId> ids, std::size_t prompt_length, std::span<float> scores,
               float xtc = 1);
  // No step would change anything.
  bool empty() const;

 private:
  struct Steps;
  std::unique_ptr<Steps> steps_;
};

}  // namespace linnet
