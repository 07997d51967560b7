#include "base/checksum.h"

namespace linnet {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kStripe = kLanes * sizeof(std::uint64_t);
constexpr std::size_t kStripesPerRound = 16;  // between two scrambles
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15, kPrime = 0xc2b2ae3d27d4eb4f;

// A bijection in which every bit of x moves about half of the bits (Steele, "SplitMix64").
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

struct Keys {
  std::uint64_t value[kStripesPerRound * kLanes];
  constexpr Keys() : value{} {
    for (std::size_t i = 0; i < kStripesPerRound * kLanes; ++i) value[i] = mixed((i + 1) * kGolden);
  }
};
constexpr Keys kKeys;

// The product of halves takes both halves of the word; the sum of the word itself keeps what a
// zero in one half would lose.
void add_stripe(std::uint64_t* sums, const std::byte* bytes, const std::uint64_t* keys) {
  std::uint64_t words[kLanes];
  std::memcpy(words, bytes, kStripe);
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::uint64_t keyed = words[i] ^ keys[i];
    sums[i] += (keyed & 0xffffffff) * (keyed >> 32) + (words[i] << 32 | words[i] >> 32);
  }
}

void scramble(std::uint64_t* sums) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    sums[i] = (sums[i] ^ sums[i] >> 47 ^ kKeys.value[i]) * kPrime;
  }
}

}  // namespace

std::uint64_t checksum64(Bytes bytes) {
  std::uint64_t sums[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) sums[i] = mixed(i + 1);
  const std::size_t stripes = bytes.size() / kStripe;
  for (std::size_t stripe = 0; stripe < stripes; ++stripe) {
    const std::size_t turn = stripe % kStripesPerRound;
    add_stripe(sums, bytes.data() + stripe * kStripe, kKeys.value + turn * kLanes);
    if (turn + 1 == kStripesPerRound) scramble(sums);
  }
  std::byte last[kStripe] = {};
  const std::size_t left = bytes.size() - stripes * kStripe;
  if (left > 0) std::memcpy(last, bytes.data() + stripes * kStripe, left);
  scramble(sums);
  add_stripe(sums, last, kKeys.value);
  std::uint64_t result = bytes.size() * kGolden;
  for (const std::uint64_t sum : sums) result = mixed(result ^ sum) + kPrime;
  return result;
}

}  // namespace linnet
