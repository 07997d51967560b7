// What a generation is asked for and what it gives. The order of the logits processors and of the
// sampler's sums is that of reference implementations, so that seeds give the same tokens:
// repetition penalty, temperature, top_k, top_p, min_p, then one draw of the Threefry stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/tokenizer_data.h"

namespace linnet {

struct GenerationConfig {
  bool sample = false;                // false: greedy (first of equal logits)
  float temperature = 1.0f;           // at or below 1e-6: greedy
  std::int64_t top_k = 0;             // 0: off; ties with the k-th stay
  std::optional<float> top_p;         // in (0, 1]; smallest set whose probability reaches it
  float min_p = 0.0f;                 // removes ids below min_p times the largest probability
  float repetition_penalty = 1.0f;    // once per distinct id of prompt and output
  std::optional<std::uint64_t> seed;  // none: from the clock, reported in the result
  std::int64_t max_new_tokens = -1;   // -1: until the context is full
  std::vector<TokenId> stop_ids;
  std::vector<std::string> stop_strings;  // never shown, nor anything after them

  // The fields of a generation_config.json (null: none). Errors name field, value and range.
  static GenerationConfig from_json(const Json& config);
  // Throws Error{invalid_argument} for a value out of its range.
  void check() const;
};

enum class FinishReason : std::uint8_t { stop, length, cancelled };
std::string_view finish_reason_name(FinishReason reason);

struct GenerationResult {
  std::vector<TokenId> ids;  // new ids, the stop id among them
  std::string text;          // without stop id, stop string and special tokens
  FinishReason finish = FinishReason::stop;
  std::uint64_t seed = 0;  // that was used
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of the prompt, taken from the cache
  double prefill_seconds = 0;      // until the first logits
  double decode_seconds = 0;       // from then to the end

  double prefill_rate() const;  // computed prompt tokens per second
  double decode_rate() const;   // new tokens per second
};

}  // namespace linnet
