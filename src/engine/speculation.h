// Guesses for the answers of an engine, and whether they pay. Not thread-safe.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/drafts.h"

namespace linnet {

class Speculation {
 public:
  // The draft model may be null. `always`: whatever guesses cost.
  Speculation(const PassPrice& price, std::shared_ptr<DraftModel> model, bool always)
      : price_(price), model_(std::move(model)), always_(always), earlier_(kEarlierTokens) {}

  // So many sequences will be in the next pass; what they guess adds to its rows.
  void begin_pass(std::int64_t sequences);

  // Of one answer.
  class Guesser {
   public:
    Guesser(Speculation& speculation, bool is_shared);
    // A pass verified so many of the last guesses; may be called on any thread.
    void note(std::int64_t verified, std::int64_t right) { verified_ = verified, right_ = right; }
    // The ids so far, of which it has seen the first before; at most `most` guesses.
    std::vector<TokenId> next(std::span<const TokenId> ids, std::int64_t most);
    // The answer has ended: others may repeat it.
    void keep(std::span<const TokenId> answer);

   private:
    Speculation& speculation_;
    bool is_shared_;
    DraftSource source_;
    DraftLength length_;
    std::size_t seen_ = 0;
    Draft draft_;
    PassLoad load_;
    std::int64_t verified_ = -1, right_ = 0;  // -1: no pass yet
  };
  // Answers that are `shared` help to guess others and are guessed from others.
  std::unique_ptr<Guesser> guesser(bool is_shared) {
    return std::make_unique<Guesser>(*this, is_shared);
  }

 private:
  static constexpr std::int64_t kEarlierTokens = 1 << 16;

  const PassPrice& price_;
  std::shared_ptr<DraftModel> model_;
  const bool always_;
  EarlierAnswers earlier_;
  DraftRecord usual_;
  PassLoad load_;
};

}  // namespace linnet
