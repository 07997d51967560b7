// What is done to a row of logits before a token is drawn: pure functions, in place, over [vocab].
// A removed id has the score -inf. All sums are f32, one rounding per addition, from the first
// element to the last (removed ids add exactly 0), so that seeds give the same tokens everywhere.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

inline constexpr float kRemoved = -std::numeric_limits<float>::infinity();

// Throws Error{corrupt_file} for NaN (naming the id), for an empty row, and when every id is
// removed: the weights are broken, and any choice would be noise.
void check_logits(std::span<const float> logits);

// The first of the largest.
TokenId first_maximum(std::span<const float> logits);

// Scores of the given distinct ids: negative ones times the penalty, others divided by it.
void penalize_repetition(std::span<float> scores, std::span<const TokenId> distinct_ids,
                         float penalty);

// Divides by the temperature. Where the largest score is, or becomes, infinite, only its equals
// stay (with score 0): the limit that greedy choice is.
void divide_by_temperature(std::span<float> scores, float temperature);

// Removes what is below the k-th largest; its equals stay.
void keep_top_k(std::span<float> scores, std::int64_t k);

// Ascending by score, equal scores by id: removes while the running sum of probabilities is at
// most 1 - p. The largest stays.
void keep_top_p(std::span<float> scores, float p);

// Removes what has less than min_p times the largest probability.
void keep_min_p(std::span<float> scores, float min_p);

// Softmax of scores whose largest is finite.
void probabilities(std::span<const float> scores, std::vector<float>& out);

// Logarithms of the softmax of raw logits, summed in f64.
std::vector<float> log_probabilities(std::span<const float> logits);

}  // namespace linnet
