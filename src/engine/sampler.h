// Chooses tokens from logits as a GenerationConfig says: greedily, or with one draw of the
// Threefry stream per token. One Sampler serves one sequence; what it chooses depends on its
// seed, the ids it has seen and the logits, on nothing else.
#pragma once

#include <span>
#include <vector>

#include "base/random.h"
#include "engine/generation.h"

namespace linnet {

struct Choice {
  TokenId id = 0;
  float probability = 1;  // after all processors; 1 when greedy
  float uniform = 0;      // the draw; 0 when greedy
};

class Sampler {
 public:
  // Below this temperature sampling is greedy choice.
  static constexpr float kGreedyTemperature = 1e-6f;

  Sampler(const GenerationConfig& config, std::uint64_t seed);

  // Ids that the repetition penalty is for: the prompt, then each chosen one. Not negative.
  void see(std::span<const TokenId> ids);
  // Errors: corrupt_file for logits that hold NaN or nothing above -infinity.
  Choice choose(std::span<const float> logits);

 private:
  Choice draw();

  bool greedy_;
  float temperature_;
  std::int64_t top_k_;
  float top_p_;
  float min_p_;
  float repetition_penalty_;
  RandomStream random_;
  std::vector<TokenId> distinct_;  // of the ids seen
  std::vector<bool> is_seen_;      // by id
  std::vector<float> scores_;      // [vocab], as are the probabilities
  std::vector<float> probabilities_;
};

}  // namespace linnet
