#include "base/checksum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace linnet;

namespace {

std::vector<std::byte> numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

}  // namespace

TEST_CASE("the values stay what they are: files hold them") {
  CHECK(checksum64({}) == 0x59f67c498fa9adb9);
  CHECK(checksum64(as_bytes("linnet")) == 0x600f8fcc2ea6a84d);
  CHECK(checksum64(numbered(5000)) == 0x3050babd73d6b411);
}

TEST_CASE("every change of one bit, and every length, gives another value") {
  std::set<std::uint64_t> seen;
  std::size_t expected = 0;
  for (const std::size_t size : {1, 8, 63, 64, 65, 1024, 1500}) {
    std::vector<std::byte> bytes = numbered(size);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      seen.insert(checksum64(bytes));
      bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
    expected += 8 * size;
  }
  const std::vector<std::byte> zeros(300);
  for (std::size_t size = 0; size <= zeros.size(); ++size) {
    seen.insert(checksum64(Bytes(zeros).first(size)));
  }
  CHECK(seen.size() == expected + zeros.size() + 1);
}

TEST_CASE("words that change places change the value") {
  std::vector<std::byte> bytes = numbered(4096);
  const std::uint64_t before = checksum64(bytes);
  for (const std::size_t other : {8, 64, 1024, 2048}) {
    std::vector<std::byte> swapped = bytes;
    std::swap_ranges(swapped.begin(), swapped.begin() + 8,
                     swapped.begin() + static_cast<std::ptrdiff_t>(other));
    CHECK(checksum64(swapped) != before);
  }
}
