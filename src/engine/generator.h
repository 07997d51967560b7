// Generates for one sequence at a time: prefill in chunks, then decode with a cache. The cache is
// kept between calls: a prompt that starts as the last sequence did (the next turn of a chat) is
// computed only from where it differs, with the same bits as without a cache.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/generation.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace linnet {

// One per new id, the stop id among them. The texts of all events together are the result's text.
struct TokenEvent {
  TokenId id = 0;
  std::string_view text;  // what may be shown now; complete characters, often empty or several ids'
};

struct GenerateOptions {
  std::function<void(const TokenEvent&)> on_token;
  // Called while the prompt is computed: done (cached ones among them) and total prompt tokens.
  std::function<void(std::int64_t, std::int64_t)> on_prefill;
  // When it becomes true the result ends in FinishReason::cancelled with what was made so far;
  // text that was held back (half a character, the beginning of a stop string) is dropped.
  const std::atomic<bool>* cancel = nullptr;
  bool keep_special = false;        // special tokens stay in the text; the stop id never does
  std::int64_t prefill_rows = 256;  // prompt tokens computed at once; no effect on the result
};

class Generator {
 public:
  // Without a tokenizer (null) ids come, but no text, and stop strings are refused.
  Generator(std::shared_ptr<const Model> model, std::shared_ptr<const Tokenizer> tokenizer);

  // Errors: invalid_argument for an empty prompt, ids outside of the vocabulary, a prompt that does
  // not leave room in the context (both numbers named); what a callback throws. After an error the
  // generator can be used on.
  GenerationResult generate(std::span<const TokenId> prompt, const GenerationConfig& config,
                            const GenerateOptions& options = {});

  const Model& model() const { return *model_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  std::int64_t context_tokens() const { return static_cast<std::int64_t>(ids_.size()); }
  void clear();  // forgets the cache

 private:
  void check_prompt(std::span<const TokenId> prompt) const;
  // Appends ids to the cache; the logits after the last one when wanted (else an empty row).
  // Nothing when cancelled; cache and ids are then as before.
  std::optional<std::vector<float>> compute(std::span<const TokenId> ids, bool want_logits,
                                            const std::atomic<bool>* cancel);
  // Brings the cache from what it shares with the prompt to the whole prompt.
  std::optional<std::vector<float>> prefill(std::span<const TokenId> prompt,
                                            const GenerateOptions& options,
                                            GenerationResult& result);

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  KvCache cache_;
  std::vector<TokenId> ids_;  // what the cache holds
};

}  // namespace linnet
