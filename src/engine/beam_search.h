// Beam search for one sequence: which beams go on with which token, by their log-probabilities.
// The rules are those of transformers 5: the score of a finished beam is the sum of its
// log-probabilities over (its new tokens, the stop id included) ^ length_penalty, and a beam may
// finish only by a candidate that is among the best `beams` of its step.
//
//   BeamSearch search({.beams = 4, .stop_ids = {2}, .max_new_tokens = 100});
//   for (std::span<const Beam> next = search.beams(); !search.is_done();)
//     next = search.advance(rows_of_log_probabilities(next));
//   std::vector<BeamResult> answers = search.results(1);
//
// Diverse beam search (Vijayakumar et al. 2016, with the Hamming diversity of transformers 4):
// beams are divided into groups that choose one after the other; each loses `diversity_penalty` for
// every time that an earlier group's beams took the token in this step. A group searches and ends
// by itself; the results are the best of all groups, their scores with the penalties in them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

enum class EarlyStopping : std::uint8_t {
  when_unlikely,  // "false": no running beam would beat the worst finished one at its own length
  when_full,      // "true": as soon as `beams` beams are finished
  never,          // until none can, were it as long as the length penalty likes best
};

struct BeamOptions {
  std::int64_t beams = 1;
  std::int64_t groups = 1;  // divides beams
  float diversity_penalty = 0;
  float length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::when_unlikely;
  std::vector<TokenId> stop_ids;
  std::int64_t max_new_tokens = 0;

  // Throws Error{invalid_argument} that names the field, its value and its range.
  void check() const;
};

// A beam of the next step.
struct Beam {
  std::int64_t parent = 0;  // row of this step that it goes on from
  TokenId token = 0;
};

struct BeamResult {
  std::vector<TokenId> ids;         // new ids, the stop id among them
  float score = 0;                  // see above
  std::vector<std::int64_t> beams;  // for each id the row that it was chosen from
};

class BeamSearch {
 public:
  // Tells whether a beam ends with the candidate though it is no stop id (a stop string, say).
  using Ends = std::function<bool(const Beam& candidate)>;

  // Errors: those of BeamOptions::check.
  explicit BeamSearch(const BeamOptions& options);

  // As many rows as the next step wants: one for the prompt, then one for each of beams().
  std::int64_t rows() const { return step_ == 0 ? 1 : static_cast<std::int64_t>(next_.size()); }
  // The beams whose last tokens the next rows are for; none before the first step.
  std::span<const Beam> beams() const { return next_; }

  // [rows(), vocab]: log-probabilities after all processors (not normalized again); -infinity
  // removes. Gives beams(), which may be fewer than asked for when too few candidates are left.
  // Equal candidates: the lower row, then the lower id goes first. Not after the end.
  // Error{corrupt_file} for scores that are not numbers, or +infinity.
  std::span<const Beam> advance(std::span<const float> scores, const Ends& ends = nullptr);

  bool is_done() const;
  // The best first, at most `count`. Before the end (a cancelled request) what is finished until
  // then, filled up with running beams as though they ended here.
  std::vector<BeamResult> results(std::int64_t count) const;

 private:
  // A token of a beam; beams share their beginnings.
  struct Node {
    std::int32_t before;  // the node of the token before it, -1 for none
    std::int32_t row;
    TokenId token;
  };
  struct Candidate {
    float score;
    std::int32_t row;
    TokenId token;
    std::int32_t before;  // the node of its beam
  };
  struct Scored {
    float score;  // of a running beam the sum, of a finished one what results() gives
    std::int32_t node;
  };
  struct Group {
    std::vector<Scored> running, finished;  // the best first
    bool is_done = false;
  };

  static bool is_better(const Candidate& a, const Candidate& b);
  void select(std::span<const float> scores, const Scored& beam, std::int32_t row);
  void take(Group& group, const Ends& ends);
  void finish(Group& group, const Scored& end) const;
  bool can_improve(const Group& group) const;
  float length_divisor(std::int64_t length) const;

  BeamOptions options_;
  std::size_t group_beams_ = 0;
  std::int64_t step_ = 0;
  std::vector<Group> groups_;
  std::vector<Node> nodes_;
  std::vector<Beam> next_;
  std::vector<Candidate> best_;  // of a group in this step
  std::vector<TokenId> taken_;   // in this step by the groups before
  std::vector<float> row_;       // [vocab], less the penalty
};

}  // namespace linnet
