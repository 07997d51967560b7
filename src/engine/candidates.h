// The ids that may still be chosen, ascending, with their scores. Removed ids are not in it; every
// sum goes over the others in the order of their ids, so that it has the bits of a sum over the
// whole row in which removed ids count as 0.
#pragma once

#include <span>
#include <vector>

#include "engine/logits.h"

namespace linnet {

class Candidates {
 public:
  // Starts with a row, which may be changed through row() until settle() leaves out what is
  // removed. No NaN. settle(): false when nothing is left.
  void assign(std::span<const float> scores);
  std::span<float> row() { return {scores_.data(), count_}; }
  bool settle();
  // The row that this stands for, [vocab].
  void store(std::span<float> row) const;

  std::size_t size() const { return count_; }
  TokenId id(std::size_t i) const { return is_whole_ ? static_cast<TokenId>(i) : ids_[i]; }
  std::span<const float> scores() const { return {scores_.data(), count_}; }
  float largest();
  // e^(score - largest).
  std::span<const float> weights();
  // Of the weights, f32, one after the other.
  float total();

  // Divides the scores. Where the largest is, or becomes, infinite, only its equals stay (with
  // score 0): the limit that greedy choice is.
  void divide(float divisor);
  // The largest must stay; where it does not, forget_largest() has to follow.
  void keep_at_least(float bound);
  template <class Keep>
  void keep_if(const Keep& keep) {  // keep(i) for every i, ascending
    Compaction compaction(*this);
    for (std::size_t i = 0; i < count_; ++i) {
      compaction.put(i);
      compaction.kept += keep(i) ? 1 : 0;
    }
    compaction.finish();
  }
  void forget_largest() { has_largest_ = has_weights_ = has_total_ = false; }

 private:
  // Moves what stays to the front.
  struct Compaction {
    explicit Compaction(Candidates& candidates);
    void put(std::size_t i) {  // as the next one, unless another comes
      to.ids_[kept] = to.id(i);
      to.scores_[kept] = to.scores_[i];
      if (has_weights) to.weights_[kept] = to.weights_[i];
    }
    void finish();

    Candidates& to;
    bool has_weights;
    std::size_t kept = 0;
  };
  void keep_infinite();

  std::vector<TokenId> ids_;
  std::vector<float> scores_;
  std::vector<float> weights_;
  std::size_t count_ = 0;
  bool is_whole_ = true;  // the ids are 0, 1, ...: ids_ is not used
  bool has_largest_ = false;
  bool has_weights_ = false;
  bool has_total_ = false;
  float largest_ = 0;
  float total_ = 0;
};

}  // namespace linnet
