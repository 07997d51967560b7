// One answer while it is made: chooses ids from logits, finds its end, turns ids into text. Depends
// on its request, its seed and the logits, on nothing else; never on how many logits came at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/request.h"
#include "engine/sampler.h"
#include "engine/text_output.h"
#include "engine/thinking.h"

namespace linnet {

class GrowingAnswer {
 public:
  // `request` and the tokenizer (or null) must outlive it. `most_new`: ids that there is room for.
  GrowingAnswer(const Request& request, std::int64_t index, std::uint64_t seed,
                const Tokenizer* tokenizer, std::int64_t most_new);

  // Decides the next ids: logits [1 + drafts, vocab] are those after the last id and, as long as
  // each draft is what is chosen, after the drafts. Returns how many drafts were right.
  // `end_thought`: a thought that is open is closed.
  std::size_t advance(std::span<const float> logits, std::span<const TokenId> drafts,
                      bool end_thought);
  // An id that was chosen elsewhere.
  void take_chosen(TokenId id) { take(id, false, {}); }
  // Ends where it is, unless it has ended.
  void end(FinishReason reason);

  bool has_ended() const { return ended_; }
  std::span<const TokenId> ids() const { return result_.ids; }
  GenerationResult& result() { return result_; }
  // Events since the last call; their text lives until the next one.
  std::vector<TokenEvent> take_events();
  // Ends as cancelled, as though the last `count` of the events taken had never been.
  void take_back(std::size_t count);

 private:
  void take(TokenId id, bool is_forced, std::span<const float> logits);

  const Request& request_;
  std::int64_t index_;
  std::int64_t most_new_;
  Sampler sampler_;
  TextOutput output_;
  Thinking thinking_;
  GenerationResult result_;
  bool ended_ = false;
  struct Event {
    TokenId id;
    std::string text;
    bool is_reasoning, is_forced;
    std::int64_t reasoning_tokens;  // with this one
  };
  std::vector<Event> events_, told_;
};

}  // namespace linnet
