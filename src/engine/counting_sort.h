// Sorting many small numbers by counting digits: some ten times as fast as comparing them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace linnet {

// Ascending by key(item), a std::uint32_t; equal keys keep their order. `other` is scratch memory.
// Floats that are not negative have the order of their bits.
template <class Item, class Key>
void counting_sort(std::vector<Item>& items, std::vector<Item>& other, const Key& key) {
  constexpr std::size_t kWorthCounting = 1024;
  if (items.size() < kWorthCounting) {
    std::stable_sort(items.begin(), items.end(),
                     [&](const Item& a, const Item& b) { return key(a) < key(b); });
    return;
  }
  constexpr int kBits = 11;
  constexpr std::uint32_t kMask = (1u << kBits) - 1;
  std::array<std::array<std::uint32_t, kMask + 1>, 3> place{};
  for (const Item& item : items) {
    const std::uint32_t bits = key(item);
    ++place[0][bits & kMask];
    ++place[1][bits >> kBits & kMask];
    ++place[2][bits >> (2 * kBits)];
  }
  other.resize(items.size());
  for (std::size_t digit = 0; digit < place.size(); ++digit) {
    auto& next = place[digit];
    std::uint32_t before = 0;
    for (std::uint32_t& start : next) before += std::exchange(start, before);
    const std::size_t shift = digit * kBits;
    for (const Item& item : items) other[next[key(item) >> shift & kMask]++] = item;
    items.swap(other);
  }
}

}  // namespace linnet
