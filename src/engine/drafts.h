// Speculation without a second model: guesses how a sequence goes on from what it, and earlier
// answers, said after the same words, and decides how many guessed tokens are worth their rows in
// the next pass. Guesses never change a token: a pass verifies them.
//
//   DraftSource source;  source.see(prompt);  DraftLength length;
//   each pass:  PassLoad load{plain_rows, plain_rows, tokens};
//               for each sequence:  Draft draft = source.propose(48);
//                                   draft.keep(length.choose(draft, load, price));
//                                   load.rows += draft's;  load.tokens += length.expected(draft);
//               ... the pass, of last tokens and drafts;  price.record(load.rows, its seconds);
//               for each sequence:  length.record(draft, those right, its load before, price);
//                                   source.see(the decided ids);
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "engine/pass_price.h"
#include "engine/suffix_index.h"
#include "text/tokenizer_data.h"

namespace linnet {

struct Draft {
  std::vector<TokenId> ids;
  std::vector<float> confidence;  // of each id, given that those before are right; in (0, 1)

  void keep(std::int64_t count);
};

// Another source of drafts: a smaller model of the same vocabulary, say. Whatever it proposes is
// verified, so it may be wrong, and stop early.
class DraftModel {
 public:
  virtual ~DraftModel() = default;
  // At most `most` ids that may follow all ids of a sequence. From call to call `ids` go on, or go
  // on from an earlier place where drafted ones were refused: what was computed for the common
  // beginning may be kept. Ids outside of the vocabulary are a fault of the model.
  virtual Draft propose(std::span<const TokenId> ids, std::int64_t most) = 0;
};

// Answers that were given before, for drafts of later ones: at most `capacity` tokens; what gave no
// draft lately goes first. One store for each group of callers that may see from the speed of
// their answers what the others were told. Not for several threads at once.
class EarlierAnswers {
 public:
  explicit EarlierAnswers(std::int64_t capacity);

  // Only the end of an answer that is longer than a quarter of the capacity.
  void add(std::span<const TokenId> answer);
  const SuffixIndex& index() const { return index_; }
  // The answer at this position was of use.
  void touch(std::int64_t position);

 private:
  struct Answer {
    std::int64_t begin, end;  // the boundary after it included
    bool is_used = false;     // since it was added
  };

  void append(std::span<const TokenId> answer);

  std::int64_t capacity_;
  SuffixIndex index_;
  std::deque<Answer> answers_;  // the oldest first
};

class DraftSource {
 public:
  // `earlier` may be null; it must outlive the source.
  explicit DraftSource(EarlierAnswers* earlier = nullptr) : earlier_(earlier) {}

  // Decided ids: the prompt, then each piece of the answer.
  void see(std::span<const TokenId> ids);
  // At most `most` ids that followed the longest match of the present end, by a vote of the
  // places where it was found: each id the one most of them went on with, of equals the newest's.
  // Empty without a match of two tokens.
  Draft propose(std::int64_t most);

  std::int64_t bytes() const { return own_.bytes(); }

 private:
  // A place where the present end was before, and what came next there.
  struct Voter {
    const SuffixIndex* index;
    std::int64_t next;
    std::int64_t match;
    TokenId vote;
  };
  struct Verdict {
    TokenId id;
    double share;        // of the votes
    std::int64_t match;  // the longest of its voters
  };

  std::vector<Voter> voters();
  static TokenId vote_of(const Voter& voter, const Draft& draft);
  static Verdict count(std::span<const Voter> voters);

  EarlierAnswers* earlier_;
  SuffixIndex own_;
  std::vector<TokenId> tail_;  // the last ids seen
  std::vector<SuffixIndex::Place> places_;
};

// How often drafted tokens were right, by their confidence; what is long ago counts less.
class DraftRecord {
 public:
  // `usual` (of many sequences, say) is what is expected before there is evidence; it learns too.
  explicit DraftRecord(DraftRecord* usual = nullptr) : usual_(usual) {}

  double probability(float confidence) const;
  void add(float confidence, bool is_right);

 private:
  static constexpr std::size_t kClasses = 10;
  static std::size_t class_of(float confidence);

  DraftRecord* usual_;
  std::array<double, kClasses> right_{}, all_{};
};

// The pass that a draft would join: the same for all sequences of a pass but for the drafts that
// were chosen before.
struct PassLoad {
  std::int64_t plain_rows = 1;  // without any draft: last tokens, chunks of prompts
  std::int64_t rows = 1;        // with the drafts chosen before
  double tokens = 1;            // that these rows are expected to yield
};

// How many drafted tokens make the most tokens per second. It pays for its errors from an
// allowance, counted in tokens: each pass adds a hundredth of one, each token won adds itself, and
// no draft may cost more than is there. So a text that cannot be guessed loses about a hundredth
// of its time, and the same hundredth pays for trying again now and then.
class DraftLength {
 public:
  explicit DraftLength(DraftRecord* usual = nullptr) : record_(usual) {}

  // None while the price of a pass without drafts is not known.
  std::int64_t choose(const Draft& draft, const PassLoad& load, const PassPrice& price) const;
  // For every pass, with the part of the draft that it verified (none: an empty one).
  void record(const Draft& verified, std::int64_t accepted, const PassLoad& load,
              const PassPrice& price);
  // What a pass is expected to add to its load's tokens by this draft.
  double expected(const Draft& draft) const;

 private:
  DraftRecord record_;
  double allowance_ = 1;
  std::int64_t passes_without_ = 0;  // a draft
};

}  // namespace linnet
