// Contrastive search (Su et al. 2022): of the top_k likeliest candidates the one with the largest
//   (1 - alpha) * probability - alpha * (largest cosine of its hidden vector with the context's).
// Each step needs the candidates' hidden vectors (behind the final norm), so a pass computes all of
// them, and only the chosen one's row is kept.
//
//   ContrastiveSearch search({.top_k = 4, .alpha = 0.6f}, hidden_width);
//   search.see(hidden_vectors_of_the_prompt);
//   loop: const auto ids = search.candidates(probabilities_after_the_last_token);
//         const ContrastiveChoice next = search.choose(hidden_vectors_of(ids));
//
// All sums are f32 in the order of dot(), so that what else a pass computes never changes a token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

struct ContrastiveOptions {
  std::int64_t top_k = 4;
  float alpha = 0.6f;  // 0: greedy; 1: only unlike what is there

  // Throws Error{invalid_argument} that names the field, its value and its range.
  void check() const;
};

struct ContrastiveChoice {
  std::size_t index = 0;  // among the candidates
  TokenId id = 0;
  float score = 0;
};

class ContrastiveSearch {
 public:
  // Errors: those of ContrastiveOptions::check.
  ContrastiveSearch(const ContrastiveOptions& options, std::int64_t width);

  // [n, width]: vectors of the next n tokens of the context, in pieces of any size. What choose()
  // has chosen is in the context already. Error{corrupt_file} for what is not finite.
  void see(std::span<const float> hidden);
  std::int64_t context() const { return context_; }

  // [vocab] -> the likeliest ids, the first of equals first; as many as have a probability above 0,
  // at most top_k. Error{corrupt_file} for NaN, and when there is none.
  std::span<const TokenId> candidates(std::span<const float> probabilities);
  // [candidates, width]: the vectors of the candidates given last. Of equal scores the likelier.
  ContrastiveChoice choose(std::span<const float> hidden);

 private:
  void append(std::span<const float> unit);
  std::vector<float> largest_cosines(std::span<const float> units) const;

  ContrastiveOptions options_;
  std::size_t width_;
  std::int64_t context_ = 0;
  std::vector<std::vector<float>> pieces_;  // unit vectors [kPieceVectors, width], the last shorter
  std::vector<TokenId> candidates_;
  std::vector<float> probabilities_;  // of the candidates
};

}  // namespace linnet
