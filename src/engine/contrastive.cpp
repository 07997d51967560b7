#include "engine/contrastive.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "tensor/functions.h"

namespace linnet {
namespace {

constexpr std::int64_t kMostCandidates = 1024;
constexpr std::size_t kPieceVectors = 64;
// Sums of squares outside of these have lost bits.
constexpr float kLeastSquares = 1e-30f, kMostSquares = 1e30f;

// Divides the vector by its length; zeros stay.
void make_unit(std::span<float> vector) {
  const auto count = static_cast<std::int64_t>(vector.size());
  float squares = dot(vector.data(), vector.data(), count);
  if (!(squares >= kLeastSquares && squares <= kMostSquares)) {
    float largest = 0;
    for (const float value : vector) {
      if (!std::isfinite(value)) {
        fail(ErrorCode::corrupt_file,
             fmt::format("a hidden vector of contrastive search holds {}: the weights are broken",
                         value));
      }
      largest = std::max(largest, std::abs(value));
    }
    if (largest == 0) return;
    for (float& value : vector) value /= largest;
    squares = dot(vector.data(), vector.data(), count);
  }
  const float length = std::sqrt(squares);
  for (float& value : vector) value /= length;
}

}  // namespace

void ContrastiveOptions::check() const {
  if (top_k < 1 || top_k > kMostCandidates) {
    fail(ErrorCode::invalid_argument,
         fmt::format("top_k is {}; contrastive search takes 1 to {}", top_k, kMostCandidates));
  }
  if (!(alpha >= 0 && alpha <= 1)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("penalty_alpha is {}; it must be from 0 to 1", alpha));
  }
}

ContrastiveSearch::ContrastiveSearch(const ContrastiveOptions& options, std::int64_t width)
    : options_(options), width_(static_cast<std::size_t>(width)) {
  options_.check();
  LINNET_CHECK(width > 0);
}

void ContrastiveSearch::see(std::span<const float> hidden) {
  LINNET_CHECK(hidden.size() % width_ == 0);
  std::vector<float> unit(width_);
  for (std::size_t at = 0; at < hidden.size(); at += width_) {
    std::copy_n(hidden.begin() + static_cast<std::ptrdiff_t>(at), width_, unit.begin());
    make_unit(unit);
    append(unit);
  }
}

void ContrastiveSearch::append(std::span<const float> unit) {
  if (pieces_.empty() || pieces_.back().size() == kPieceVectors * width_) {
    std::vector<float> piece;
    piece.reserve(kPieceVectors * width_);
    pieces_.push_back(std::move(piece));
  }
  pieces_.back().insert(pieces_.back().end(), unit.begin(), unit.end());
  ++context_;
}

std::span<const TokenId> ContrastiveSearch::candidates(std::span<const float> probabilities) {
  const auto likelier = [&](TokenId a, TokenId b) {
    const float at_a = probabilities[static_cast<std::size_t>(a)];
    const float at_b = probabilities[static_cast<std::size_t>(b)];
    return at_a != at_b ? at_a > at_b : a < b;
  };
  candidates_.clear();  // a heap with the least likely on top
  const auto most = static_cast<std::size_t>(options_.top_k);
  float floor = 0;
  for (std::size_t id = 0; id < probabilities.size(); ++id) {
    if (probabilities[id] <= floor) continue;
    if (!std::isfinite(probabilities[id])) {
      fail(ErrorCode::corrupt_file,
           fmt::format("the probability of id {} is {}: the weights are broken", id,
                       probabilities[id]));
    }
    if (candidates_.size() == most) {
      std::pop_heap(candidates_.begin(), candidates_.end(), likelier);
      candidates_.pop_back();
    }
    candidates_.push_back(static_cast<TokenId>(id));
    std::push_heap(candidates_.begin(), candidates_.end(), likelier);
    if (candidates_.size() == most) {
      floor = probabilities[static_cast<std::size_t>(candidates_.front())];
    }
  }
  if (candidates_.empty()) {
    fail(ErrorCode::corrupt_file,
         fmt::format("none of the {} probabilities is above 0: no token can be chosen",
                     probabilities.size()));
  }
  std::sort_heap(candidates_.begin(), candidates_.end(), likelier);
  probabilities_.clear();
  for (const TokenId id : candidates_) {
    probabilities_.push_back(probabilities[static_cast<std::size_t>(id)]);
  }
  return candidates_;
}

std::vector<float> ContrastiveSearch::largest_cosines(std::span<const float> units) const {
  constexpr std::size_t kWeights = 4, kRows = 2;  // of a tile
  const std::size_t count = units.size() / width_;
  std::vector<float> largest(count, context_ == 0 ? 0.0f : -2.0f);
  std::array<float, kWeights * kRows> cosines{};
  for (const std::vector<float>& piece : pieces_) {
    const std::size_t vectors = piece.size() / width_;
    for (std::size_t row = 0; row < vectors; row += kRows) {
      for (std::size_t first = 0; first < count; first += kWeights) {
        const std::size_t rows = std::min(kRows, vectors - row);
        const std::size_t candidates = std::min(kWeights, count - first);
        const auto width = static_cast<std::int64_t>(width_);
        dot_tile({units.data() + first * width_, static_cast<std::int64_t>(candidates),
                  piece.data() + row * width_, static_cast<std::int64_t>(rows), width, width},
                 cosines.data(), static_cast<std::int64_t>(kWeights));
        for (std::size_t i = 0; i < rows * kWeights; ++i) {
          if (i % kWeights >= candidates) continue;
          float& found = largest[first + i % kWeights];
          found = std::max(found, cosines[i]);
        }
      }
    }
  }
  return largest;
}

ContrastiveChoice ContrastiveSearch::choose(std::span<const float> hidden) {
  LINNET_CHECK(!candidates_.empty() && hidden.size() == candidates_.size() * width_);
  std::vector<float> units(hidden.begin(), hidden.end());
  const std::span<float> all(units);
  for (std::size_t at = 0; at < units.size(); at += width_) make_unit(all.subspan(at, width_));
  const std::vector<float> cosines = largest_cosines(units);
  ContrastiveChoice best;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const float score = (1.0f - options_.alpha) * probabilities_[i] - options_.alpha * cosines[i];
    if (i == 0 || score > best.score) best = {i, candidates_[i], score};
  }
  append(all.subspan(best.index * width_, width_));
  candidates_.clear();
  return best;
}

}  // namespace linnet
