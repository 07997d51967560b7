// A text, or a pair of texts, as one row of ids: cut to a length, with the ids that the tokenizer's
// post-processor puts around. Rules and results are those of transformers with its fast tokenizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace linnet {

enum class Side { left, right };

enum class PairTruncation {
  longest_first,  // the longer one first, down to the shorter, then both to halves
  only_first,
  only_second,
};

struct Truncation {
  std::size_t max_length = 0;  // of the row, the ids around included
  Side side = Side::right;     // where ids are cut off
  PairTruncation pair = PairTruncation::longest_first;
};

struct TokenRow {
  std::vector<TokenId> ids;
  std::vector<std::int32_t> types;  // one per id: of which sequence it is, as the template says
  bool operator==(const TokenRow&) const = default;
};

// Cuts the sequences, `second` may be null, so that they have at most `room` ids together.
// Error{invalid_argument} when the one that may be cut would lose all of its ids, or is missing;
// nothing is cut then.
void truncate_pair(std::vector<TokenId>& first, std::vector<TokenId>* second, std::size_t room,
                   const Truncation& truncation);

// Puts the sequences into their places. Error{invalid_argument} also when the ids around leave no
// room at all.
TokenRow make_row(std::vector<TokenId> first, std::optional<std::vector<TokenId>> second,
                  const RowTemplate& around, const std::optional<Truncation>& truncation);

// Without options.add_special_tokens nothing stands around: ids of type 0, then those of the second
// text with type 1.
TokenRow encode_row(const Tokenizer& tokenizer, std::string_view first,
                    std::optional<std::string_view> second, const EncodeOptions& options,
                    const std::optional<Truncation>& truncation);

}  // namespace linnet
