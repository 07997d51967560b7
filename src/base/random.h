// Seeded random streams, the same on every machine: Threefry2x32 with 20 rounds (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3"), with the key and split rules of Nx.Random.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace linnet {

struct RandomKey {
  std::uint32_t high = 0;
  std::uint32_t low = 0;
  static RandomKey from_seed(std::uint64_t seed) {
    return {static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed)};
  }
  bool operator==(const RandomKey&) const = default;
};

// One block of the cipher: counter (x0, x1) under `key`.
std::array<std::uint32_t, 2> threefry2x32(RandomKey key, std::uint32_t x0, std::uint32_t x1);

// `count` outputs: counters 0..count-1 (a zero appended when odd) in two halves that form the
// pairs.
std::vector<std::uint32_t> random_words(RandomKey key, std::size_t count);
std::vector<RandomKey> split(RandomKey key, std::size_t parts = 2);
std::array<RandomKey, 2> split_in_two(RandomKey key);  // split(key)
// Uniform in [0, 1) with 23 bits.
float random_uniform(RandomKey key);

// The sampler's stream: each draw splits the carry in two, carries part 0 on and samples with part
// 1, which is split again; its part 1 gives the uniform.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed) : carry_(RandomKey::from_seed(seed)) {}
  RandomKey next_key() {  // part 1
    const auto parts = split_in_two(carry_);
    carry_ = parts[0];
    return parts[1];
  }
  float next_uniform() { return random_uniform(split_in_two(next_key())[1]); }
  RandomKey carry() const { return carry_; }

 private:
  RandomKey carry_;
};

}  // namespace linnet
