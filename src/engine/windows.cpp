#include "engine/windows.h"

#include <algorithm>

#include "base/error.h"

namespace linnet {

std::vector<Window> make_windows(std::size_t count, std::size_t size, std::size_t overlap) {
  LINNET_CHECK(overlap < size);
  std::vector<Window> windows;
  for (std::size_t begin = 0; begin < count; begin += size - overlap) {
    windows.push_back({begin, begin + std::min(size, count - begin)});
    if (windows.back().end == count) break;
  }
  return windows;
}

}  // namespace linnet
