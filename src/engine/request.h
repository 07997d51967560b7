// What is asked of the engine, what it tells on the way, and what it gives in the end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/beam_search.h"
#include "engine/contrastive.h"
#include "engine/generation.h"
#include "engine/generation_result.h"
#include "engine/thinking.h"
#include "native/stream.h"

namespace linnet {

// One per new id, the stop id among them. The texts of all events of an answer together are its
// text.
struct TokenEvent {
  TokenId id = 0;
  std::string_view text;  // what may be shown now; complete characters, often empty or several ids'
  std::int64_t answer = 0;    // of several
  bool is_reasoning = false;  // between the tags of a thought, or one of them
  bool is_forced = false;     // was not chosen
};

struct Request {
  std::vector<TokenId> prompt;
  GenerationConfig config;
  // So many answers, of one prompt that is computed once. Answer i is what a request with seed + i
  // gives alone; with beams, the i-th best.
  std::int64_t answers = 1;
  // Another method than config.sample tells; at most one. Stop ids and the number of new ids are
  // the config's, whose processors (not its filters) then act: of beams on log-probabilities. Their
  // ids are told when all are known.
  std::optional<BeamOptions> beams;
  std::optional<ContrastiveOptions> contrastive;  // one answer
  std::optional<ThinkingTags> thinking;           // none: tags of thoughts are ids like all others

  std::string caller;         // the engine's work is shared out fairly between callers
  std::int32_t priority = 0;  // higher ones go first, always
  std::string cache_salt;     // requests of different salts share no prefix
  Deadline deadline;          // ends it as FinishReason::deadline, wherever it is by then

  bool echo = false;          // the result has the text of the prompt too
  bool keep_special = false;  // special tokens stay in the text; the stop id never does
  // Of the raw logits, whatever the processors do; 0 for an id that was forced.
  bool log_probabilities = false;
  std::int64_t top_log_probabilities = 0;  // how many of the likeliest beside each; at most 20
  bool prompt_log_probabilities = false;   // of the prompt's ids too; they then come from no cache
  // These have no effect on the result.
  bool speculate = true;
  std::int64_t prompt_rows = 0;  // of its prompt in one pass at most; 0: as the engine thinks best

  // Called on the engine's thread, in order, and not for long: everyone waits. What they throw ends
  // this request and no other.
  std::function<void(const TokenEvent&)> on_token;
  // While the prompt is computed: done (cached ones among them) and total prompt tokens.
  std::function<void(std::int64_t, std::int64_t)> on_prefill;
  // The one last event. `error` is what wait() throws; null: all is well.
  std::function<void(const RequestResult*, std::exception_ptr error)> on_end;
  // When it becomes true the answers end as FinishReason::cancelled with what was made so far; text
  // that was held back (half a character, the beginning of a stop string) is dropped.
  const std::atomic<bool>* cancel = nullptr;
};

}  // namespace linnet
