#include "engine/processors.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"
#include "engine/generation.h"
#include "engine/processors_filters.h"
#include "engine/processors_history.h"

namespace linnet {
namespace {

ProcessorList copy_of(const ProcessorList& list) {
  ProcessorList copy;
  for (const auto& processor : list) copy.push_back(processor->clone());
  return copy;
}

void check_processed(std::span<const float> scores) {
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (!std::isnan(scores[id])) continue;
    fail(ErrorCode::invalid_argument,
         fmt::format("a logits processor made the score of id {} not a number", id));
  }
}

void settle(Candidates& candidates) {
  if (candidates.settle()) return;
  fail(ErrorCode::invalid_argument,
       "the logits processors removed every id: no token can be chosen; ask for less");
}

// Temperature and filters, in order.
void filter(Candidates& candidates, const GenerationConfig& config, float xtc,
            FilterScratch& scratch) {
  candidates.divide(config.dynatemp_range > 0 ? dynamic_temperature(candidates, config)
                                              : config.temperature);
  if (config.top_n_sigma > 0) keep_top_n_sigma(candidates, config.top_n_sigma);
  if (config.top_k > 0) keep_top_k(candidates, config.top_k, scratch);
  if (config.top_p < 1) keep_top_p(candidates, config.top_p, scratch);
  if (config.min_p > 0) keep_min_p(candidates, config.min_p);
  if (config.typical_p < 1) keep_typical(candidates, config.typical_p, scratch);
  if (config.epsilon_cutoff > 0) keep_epsilon(candidates, config.epsilon_cutoff);
  if (config.eta_cutoff > 0) keep_eta(candidates, config.eta_cutoff);
  if (xtc < config.xtc_probability) exclude_top_choices(candidates, config.xtc_threshold);
}

}  // namespace

struct ProcessorChain::Steps {
  GenerationConfig config;
  ProcessorList history;
  ProcessorList users;
  // Memory only.
  Candidates candidates = {};
  FilterScratch scratch = {};
  std::vector<float> row = {};
};

ProcessorChain::ProcessorChain(const GenerationConfig& config)
    : steps_(new Steps{config, history_processors(config), {}}) {
  for (const auto& processor : config.processors) add(processor->clone());
}

ProcessorChain::ProcessorChain(const ProcessorChain& other)
    : steps_(new Steps{other.steps_->config, copy_of(other.steps_->history),
                       copy_of(other.steps_->users)}) {}

ProcessorChain& ProcessorChain::operator=(const ProcessorChain& other) {
  return *this = ProcessorChain(other);
}
ProcessorChain::ProcessorChain(ProcessorChain&&) noexcept = default;
ProcessorChain& ProcessorChain::operator=(ProcessorChain&&) noexcept = default;
ProcessorChain::~ProcessorChain() = default;

void ProcessorChain::add(std::unique_ptr<LogitsProcessor> processor) {
  steps_->users.push_back(std::move(processor));
}

bool ProcessorChain::empty() const {
  return steps_->config.is_greedy() && steps_->history.empty() && steps_->users.empty();
}

Candidates& ProcessorChain::run(std::span<const TokenId> ids, std::size_t prompt_length,
                                std::span<const float> scores, float xtc) {
  Steps& steps = *steps_;
  Candidates& candidates = steps.candidates;
  candidates.assign(scores);
  for (const auto& processor : steps.history) {
    processor->process(ids, prompt_length, candidates.row());
  }
  settle(candidates);
  const bool is_greedy = steps.config.is_greedy();
  if (!is_greedy) filter(candidates, steps.config, xtc, steps.scratch);
  if (steps.users.empty()) return candidates;
  if (is_greedy && steps.config.temperature > GenerationConfig::kGreedyTemperature) {
    candidates.divide(steps.config.temperature);
  }
  steps.row.resize(scores.size());
  candidates.store(steps.row);
  for (const auto& processor : steps.users) processor->process(ids, prompt_length, steps.row);
  check_processed(steps.row);
  candidates.assign(steps.row);
  settle(candidates);
  return candidates;
}

void ProcessorChain::process(std::span<const TokenId> ids, std::size_t prompt_length,
                             std::span<float> scores, float xtc) {
  run(ids, prompt_length, scores, xtc).store(scores);
}

}  // namespace linnet
