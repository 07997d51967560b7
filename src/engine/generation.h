// What a generation is asked for and what it gives. processors.h tells in which order the fields
// act; every one is off by default.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "text/tokenizer.h"

namespace linnet {

class LogitsProcessor;

// Added to the score of the last id where prompt and answer end with the ids before it.
struct SequenceBias {
  std::vector<TokenId> ids;
  float bias = 0;
  bool operator==(const SequenceBias&) const = default;
};

// The id that comes when prompt and answer together have `index` ids.
struct ForcedToken {
  std::int64_t index = 0;
  TokenId id = 0;
  bool operator==(const ForcedToken&) const = default;
};

// From the answer's token `start` on, stop ids gain |score| * (factor^(tokens since then) - 1).
struct LengthDecay {
  std::int64_t start = 0;
  float factor = 1;
  bool operator==(const LengthDecay&) const = default;
};

struct GenerationConfig {
  // How many ids. "Length" counts the prompt, "new" does not; of each pair only one may be given.
  std::int64_t max_new_tokens = -1;  // -1: until the context is full
  std::int64_t max_length = -1;
  std::int64_t min_new_tokens = 0;  // until then no stop id comes
  std::int64_t min_length = 0;

  // Scores that depend on the ids so far.
  std::vector<SequenceBias> sequence_bias;  // also logit_bias (one id) and bad words (-infinity)
  float repetition_penalty = 1;             // once per distinct id of prompt and answer
  float presence_penalty = 0;               // once per distinct id of the answer
  float frequency_penalty = 0;              // for every time that an id is in the answer
  float dry_multiplier = 0;
  float dry_base = 1.75f;
  std::int64_t dry_allowed_length = 2;
  std::int64_t dry_range = -1;                 // how many of the last ids count; -1: all
  std::vector<TokenId> dry_breaker_ids;        // no repetition reaches over these
  std::vector<std::string> dry_breaker_texts;  // the same, see resolve_texts()
  std::int64_t no_repeat_ngram_size = 0;       // 0: off
  std::optional<LengthDecay> length_decay;
  std::vector<TokenId> suppress_tokens;
  std::vector<TokenId> begin_suppress_tokens;  // only as the first of the answer
  std::optional<TokenId> forced_bos;           // after a prompt of one id
  std::vector<TokenId> forced_eos;             // as the last id before max_length
  std::vector<ForcedToken> forced_tokens;

  // Filters of a draw.
  bool sample = false;       // false: greedy (first of equal scores)
  float temperature = 1;     // at or below 1e-6: greedy
  float dynatemp_range = 0;  // temperature +- range, by the entropy
  float dynatemp_exponent = 1;
  float top_n_sigma = 0;   // 0: off; keeps what is within so many deviations of the largest
  std::int64_t top_k = 0;  // 0: off; ties with the k-th stay
  float top_p = 1;         // smallest set whose probability reaches it
  float min_p = 0;         // removes ids below min_p times the largest probability
  float typical_p = 1;
  float epsilon_cutoff = 0;           // removes ids below this probability
  float eta_cutoff = 0;               // the same, with less where the entropy is high
  float xtc_probability = 0;          // how often all likely ids but the last of them are removed
  float xtc_threshold = 0.1f;         // the probability of a likely one
  std::int64_t mirostat = 0;          // 1 or 2: aims at a surprise instead of filtering
  float mirostat_tau = 5;             // that surprise, in bits
  float mirostat_eta = 0.1f;          // how fast it learns
  std::optional<std::uint64_t> seed;  // none: from the clock, reported in the result

  std::vector<TokenId> stop_ids;
  std::vector<std::string> stop_strings;  // never shown, nor anything after them

  // The caller's own, after all others; every sequence works with a clone.
  std::vector<std::shared_ptr<const LogitsProcessor>> processors;

  // Below this temperature a draw is greedy choice.
  static constexpr float kGreedyTemperature = 1e-6f;
  bool is_greedy() const { return !sample || temperature <= kGreedyTemperature; }

  // Fields by their names in transformers, OpenAI's API or llama.cpp (null: none); others are
  // ignored. Errors name field, value and range.
  static GenerationConfig from_json(const Json& config);
  // Throws Error{invalid_argument} for a value out of its range, and for two fields that
  // contradict each other (both named).
  void check() const;
  // Where DRY is on, turns dry_breaker_texts into ids: every token whose text holds one of them.
  // Error{invalid_argument} for a text that no token holds.
  void resolve_texts(const Tokenizer& tokenizer);
  // How many ids an answer may have; none: until the context is full. Error{invalid_argument} when
  // the prompt is as long as max_length.
  std::optional<std::int64_t> new_token_limit(std::size_t prompt_length) const;
};

// The fields that are a number each, as data: JSON, checks and command-line options follow it.
struct NumberField {
  std::string_view name;        // transformers' where it has one
  std::string_view other_name;  // OpenAI's or llama.cpp's, or none
  std::variant<float GenerationConfig::*, std::int64_t GenerationConfig::*> member;
  double low = 0;
  double high = 0;
  bool open_low = false;  // `low` itself is not in the range

  double get(const GenerationConfig& config) const;
  void set(GenerationConfig& config, double value) const;
};
std::span<const NumberField> number_fields();
// By its first name; a bug when there is none.
const NumberField& number_field(std::string_view name);

}  // namespace linnet
