// Ids for tests of sequences.
#pragma once

#include <numeric>
#include <vector>

#include "text/tokenizer_data.h"

namespace linnet {

using Ids = std::vector<TokenId>;

inline Ids range(TokenId first, std::size_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

inline Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace linnet
