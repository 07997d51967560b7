#include "text/bpe_cuts.h"

#include <algorithm>
#include <array>
#include <bit>

namespace linnet {
namespace {

bool is_candidate(char before, char behind) {
  const auto first = static_cast<unsigned char>(before);
  const auto second = static_cast<unsigned char>(behind);
  return (second & 0xC0) != 0x80 && (first | second) >= 0x80;
}

std::size_t pair_of(char before, char behind) {
  return std::size_t{static_cast<unsigned char>(before)} << 8 | static_cast<unsigned char>(behind);
}

}  // namespace

SafeCuts::SafeCuts(const TokenizerData& data)
    : sizes_(1u << 16), known_((std::size_t{1} << kBits) / 64) {
  std::vector<bool> seen(data.vocab.size());
  for (const Merge& merge : data.merges) {
    const auto id = static_cast<std::size_t>(merge.result);
    if (!seen[id]) add(data.vocab[id]);
    seen[id] = true;
  }
}

// The kReach bytes before the place and the kReach bytes behind it, the first highest; zeros beyond
// the text.
std::uint64_t SafeCuts::window_of(std::string_view text, std::size_t at) {
  std::uint64_t window = 0;
  if (at >= kReach && text.size() - at >= kReach) {
    for (std::size_t i = at - kReach; i < at + kReach; ++i) {
      window = window << 8 | static_cast<unsigned char>(text[i]);
    }
    return window;
  }
  for (std::size_t i = 0; i < 2 * kReach; ++i) {
    const bool inside = at + i >= kReach && at + i - kReach < text.size();
    window = window << 8 | (inside ? static_cast<unsigned char>(text[at + i - kReach]) : 0);
  }
  return window;
}

std::uint64_t SafeCuts::bit_of(std::uint64_t window, std::size_t size) {
  static constexpr auto kMasks = [] {
    std::array<std::uint64_t, kReach * kReach> masks{};
    for (std::size_t i = 0; i < masks.size(); ++i) {
      for (std::size_t byte = 0; byte <= i / kReach; ++byte) {
        masks[i] |= std::uint64_t{0xFF} << 8 * (kReach + byte);
      }
      for (std::size_t byte = 0; byte <= i % kReach; ++byte) {
        masks[i] |= std::uint64_t{0xFF} << 8 * (kReach - 1 - byte);
      }
    }
    return masks;
  }();
  return (((window & kMasks[size]) << 4 | size) * 0x9E3779B97F4A7C15u) >> (64 - kBits);
}

std::uint16_t SafeCuts::sizes_within(std::size_t before, std::size_t behind) {
  std::uint16_t sizes = 0;
  for (std::size_t i = 0; i < std::min(before, kReach); ++i) {
    for (std::size_t j = 0; j < std::min(behind, kReach); ++j) {
      sizes |= static_cast<std::uint16_t>(1u << (i * kReach + j));
    }
  }
  return sizes;
}

void SafeCuts::add(std::string_view token) {
  for (std::size_t at = 1; at < token.size(); ++at) {
    if (!is_candidate(token[at - 1], token[at])) continue;
    const std::size_t before = std::min(at, kReach);
    const std::size_t behind = std::min(token.size() - at, kReach);
    const std::size_t size = (before - 1) * kReach + behind - 1;
    sizes_[pair_of(token[at - 1], token[at])] |= static_cast<std::uint16_t>(1u << size);
    const std::uint64_t bit = bit_of(window_of(token, at), size);
    known_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
}

bool SafeCuts::is_safe(std::string_view piece, std::size_t at) const {
  unsigned sizes = sizes_[pair_of(piece[at - 1], piece[at])];
  const std::size_t behind = piece.size() - at;
  if (at < kReach || behind < kReach) sizes &= sizes_within(at, behind);
  if (sizes == 0) return true;
  const std::uint64_t window = window_of(piece, at);
  do {
    // The longest first: most places inside of tokens are in long ones.
    const auto size = static_cast<std::size_t>(std::bit_width(sizes)) - 1;
    sizes ^= 1u << size;
    const std::uint64_t bit = bit_of(window, size);
    if ((known_[bit / 64] >> bit % 64 & 1) != 0) return false;
  } while (sizes != 0);
  return true;
}

std::size_t SafeCuts::next(std::string_view piece, std::size_t from) const {
  for (std::size_t at = from + 1; at < piece.size(); ++at) {
    if (is_candidate(piece[at - 1], piece[at]) && is_safe(piece, at)) return at;
  }
  return piece.size();
}

}  // namespace linnet
