#include "base/random.h"

#include <bit>

namespace linnet {

std::array<std::uint32_t, 2> threefry2x32(RandomKey key, std::uint32_t x0, std::uint32_t x1) {
  constexpr std::uint32_t kParity = 0x1BD11BDA;
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const std::uint32_t keys[3] = {key.high, key.low, key.high ^ key.low ^ kParity};
  x0 += keys[0];
  x1 += keys[1];
  for (std::uint32_t group = 0; group < 5; ++group) {
    for (const int rotation : kRotations[group % 2]) {
      x0 += x1;
      x1 = std::rotl(x1, rotation) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return {x0, x1};
}

std::vector<std::uint32_t> random_words(RandomKey key, std::size_t count) {
  const std::size_t half = (count + 1) / 2;
  std::vector<std::uint32_t> words(2 * half);
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t partner = half + i;
    const auto block = threefry2x32(key, static_cast<std::uint32_t>(i),
                                    partner < count ? static_cast<std::uint32_t>(partner) : 0);
    words[i] = block[0];
    words[partner] = block[1];
  }
  words.resize(count);
  return words;
}

std::vector<RandomKey> split(RandomKey key, std::size_t parts) {
  const auto words = random_words(key, 2 * parts);
  std::vector<RandomKey> keys(parts);
  for (std::size_t i = 0; i < parts; ++i) keys[i] = {words[2 * i], words[2 * i + 1]};
  return keys;
}

std::array<RandomKey, 2> split_in_two(RandomKey key) {
  const auto a = threefry2x32(key, 0, 2), b = threefry2x32(key, 1, 3);
  return {{{a[0], b[0]}, {a[1], b[1]}}};
}

float random_uniform(RandomKey key) {
  const std::uint32_t bits = threefry2x32(key, 0, 0)[0];
  return std::bit_cast<float>((bits >> 9) | 0x3F800000u) - 1.0f;
}

}  // namespace linnet
