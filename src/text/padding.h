// From rows of many lengths to a rectangle, for callers that want one; the engine itself takes rows
// as they are. Results are those of transformers (padding, max_length, pad_to_multiple_of).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "text/token_rows.h"

namespace linnet {

struct Padding {
  TokenId id = 0;
  std::int32_t type = 0;
  Side side = Side::right;            // where the padding stands
  std::optional<std::size_t> length;  // of every row; without it, that of the longest
  std::size_t multiple_of = 1;        // the length is rounded up to one
};

// Each [rows, length], row after row.
struct PaddedRows {
  std::size_t rows = 0;
  std::size_t length = 0;
  std::vector<TokenId> ids;
  std::vector<std::int32_t> mask;  // 1: a token; 0: padding
  std::vector<std::int32_t> types;
};

// Error{invalid_argument}: a row longer than the given length (transformers leaves it long, and has
// no rectangle then), multiple_of 0, or more ids in all than kMaxPaddedIds.
inline constexpr std::size_t kMaxPaddedIds = std::size_t{1} << 31;
PaddedRows pad(std::span<const TokenRow> rows, const Padding& padding);

}  // namespace linnet
