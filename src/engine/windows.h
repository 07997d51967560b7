// Overlapping windows over more tokens than a model takes at once.
#pragma once

#include <cstddef>
#include <vector>

namespace linnet {

struct Window {
  std::size_t begin;
  std::size_t end;
  bool operator==(const Window&) const = default;
};

// [0, count) in windows of `size` tokens, each beginning `overlap` tokens before the end of the one
// before it; the last one may be shorter. None for a count of 0; `overlap` < `size`.
std::vector<Window> make_windows(std::size_t count, std::size_t size, std::size_t overlap);

}  // namespace linnet
