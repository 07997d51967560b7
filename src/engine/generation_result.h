// What a generation gives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/log_probabilities.h"
#include "text/tokenizer_data.h"

namespace linnet {

enum class FinishReason : std::uint8_t { stop, length, cancelled, deadline };
std::string_view finish_reason_name(FinishReason reason);

struct GenerationResult {
  std::vector<TokenId> ids;  // new ids, the stop id among them
  std::string text;          // without stop id, stop string and special tokens
  FinishReason finish = FinishReason::stop;
  std::uint64_t seed = 0;                      // that was used
  std::vector<RowLogProbs> log_probabilities;  // one per new id, where asked for
  float score = 0;                             // of a beam
  std::vector<std::int64_t> beam_rows;         // for each id the beam that it was chosen from
  std::vector<float> choice_scores;            // of contrastive search, for each id
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;     // of the prompt, taken from the cache
  std::int64_t reasoning_tokens = 0;  // of the new ones, between the tags of thoughts
  std::int64_t drafted_tokens = 0;    // guessed ahead
  std::int64_t accepted_tokens = 0;   // and found right
  double queue_seconds = 0;           // until its first pass
  double prefill_seconds = 0;         // from then until the first logits
  double decode_seconds = 0;          // from then to the end

  double prefill_rate() const;  // computed prompt tokens per second
  double decode_rate() const;   // new tokens per second
};

struct RequestResult {
  std::vector<GenerationResult> answers;
  std::string prompt_text;  // where asked for (Request::echo)
  // Of each id of the prompt but the first, given those before it; where asked for.
  std::vector<RowLogProbs> prompt_log_probabilities;
};

}  // namespace linnet
