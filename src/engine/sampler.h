// Chooses tokens from logits as a GenerationConfig says: greedily, or with one draw of the
// Threefry stream per token. One Sampler serves one sequence; a copy of it serves another answer
// to the same prompt.
//
// What it chooses depends on its seed, the ids it has seen and the logits, on nothing else: the
// draws for the i-th id of the answer are the i-th of the stream, however the ids before were
// chosen. So a Sampler made anew that sees the same ids goes on as the old one would have.
// (Mirostat also learns from the logits: there keep, or copy, the Sampler.)
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "engine/generation.h"
#include "engine/processors.h"
#include "engine/processors_filters.h"

namespace linnet {

struct Choice {
  TokenId id = 0;
  float probability = 1;  // after all processors; 1 when greedy
  float uniform = 0;      // the draw; 0 when greedy
};

class Sampler {
 public:
  // The first `prompt_length` ids to be seen are the prompt; by default those of the first see().
  // Errors: those of config.check(); invalid_argument for texts that were not resolved.
  Sampler(const GenerationConfig& config, std::uint64_t seed,
          std::optional<std::size_t> prompt_length = {});

  // Adds a processor of the user's, after those of the config.
  void add(std::unique_ptr<LogitsProcessor> processor) { chain_.add(std::move(processor)); }
  // The prompt, then each id of the answer, also when it was not chosen here. Not negative.
  void see(std::span<const TokenId> ids);
  // The next id; the same again until see(). Errors: corrupt_file for logits that hold NaN, +inf
  // or nothing above -infinity; those of ProcessorChain.
  Choice choose(std::span<const float> logits);

 private:
  struct Mirostat {
    std::int64_t version;
    float tau;
    float eta;
    float mu;  // how much surprise, in bits, the next id may have
    // What choose() gave since the last see().
    std::optional<TokenId> chosen = {};
    float surprise = 0;
  };
  static Choice draw(Candidates& candidates, float uniform);
  void keep_mirostat(Candidates& candidates);

  bool is_greedy_;
  float xtc_probability_;
  Mirostat mirostat_;
  ProcessorChain chain_;
  std::optional<std::size_t> prompt_length_;
  std::vector<TokenId> ids_;
  RandomStream random_;
  RandomKey key_;  // for the draws of the next id
  FilterScratch scratch_;
};

}  // namespace linnet
