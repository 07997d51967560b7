#include "text/token_rows.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace linnet {
namespace {

void cut(std::vector<TokenId>& ids, std::size_t length, Side side) {
  if (length >= ids.size()) return;
  if (side == Side::left) {
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(length));
  } else {
    ids.resize(length);
  }
}

// The shorter one keeps all of its ids while the longer one can still give some; then each has
// half, and of an odd number the longer one has one more (the second, when none is longer).
struct Lengths {
  std::size_t shorter;
  std::size_t longer;
};
Lengths longest_first(std::size_t shorter, std::size_t room) {
  const std::size_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer <= room) return {shorter, longer};
  return {room / 2, room / 2 + room % 2};
}

[[noreturn]] void refuse(std::size_t room, const std::string& why) {
  fail(ErrorCode::invalid_argument, fmt::format("cannot truncate to {} ids: {}", room, why));
}

// Cuts one of the two alone.
void cut_only(std::vector<TokenId>* target, std::size_t total, std::size_t room, Side side) {
  if (target == nullptr) refuse(room, "there is no second sequence, which alone may be cut");
  const std::size_t excess = total - room;
  if (target->size() <= excess) {
    refuse(room, fmt::format("the sequence that alone may be cut has {} ids, {} are too many",
                             target->size(), excess));
  }
  cut(*target, target->size() - excess, side);
}

std::size_t ids_around(const std::vector<RowTemplate::Item>& items) {
  return static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [](const auto& item) {
    return item.kind == RowTemplate::Kind::id;
  }));
}

}  // namespace

void truncate_pair(std::vector<TokenId>& first, std::vector<TokenId>* second, std::size_t room,
                   const Truncation& truncation) {
  const std::size_t total = first.size() + (second != nullptr ? second->size() : 0);
  if (total <= room) return;
  const Side side = truncation.side;
  if (room == 0) {
    first.clear();
    if (second != nullptr) second->clear();
  } else if (truncation.pair == PairTruncation::only_first) {
    cut_only(&first, total, room, side);
  } else if (truncation.pair == PairTruncation::only_second) {
    cut_only(second, total, room, side);
  } else if (second == nullptr) {
    cut(first, room, side);
  } else {
    const bool swapped = first.size() > second->size();
    const Lengths lengths = longest_first(std::min(first.size(), second->size()), room);
    cut(first, swapped ? lengths.longer : lengths.shorter, side);
    cut(*second, swapped ? lengths.shorter : lengths.longer, side);
  }
}

TokenRow make_row(std::vector<TokenId> first, std::optional<std::vector<TokenId>> second,
                  const RowTemplate& around, const std::optional<Truncation>& truncation) {
  const auto& items = second ? around.pair : around.single;
  if (truncation) {
    const std::size_t added = ids_around(items);
    if (added > truncation->max_length) {
      refuse(truncation->max_length, fmt::format("{} ids stand around every text", added));
    }
    truncate_pair(first, second ? &*second : nullptr, truncation->max_length - added, *truncation);
  }
  TokenRow row;
  for (const RowTemplate::Item& item : items) {
    switch (item.kind) {
      case RowTemplate::Kind::first:
        row.ids.insert(row.ids.end(), first.begin(), first.end());
        break;
      case RowTemplate::Kind::second:
        if (second) row.ids.insert(row.ids.end(), second->begin(), second->end());
        break;
      case RowTemplate::Kind::id:
        row.ids.push_back(item.id);
        break;
    }
    row.types.resize(row.ids.size(), item.type);
  }
  return row;
}

TokenRow encode_row(const Tokenizer& tokenizer, std::string_view first,
                    std::optional<std::string_view> second, const EncodeOptions& options,
                    const std::optional<Truncation>& truncation) {
  static const RowTemplate kBare;
  EncodeOptions inner = options;
  inner.add_special_tokens = false;
  std::optional<std::vector<TokenId>> second_ids;
  if (second) second_ids = tokenizer.encode(*second, inner);
  return make_row(tokenizer.encode(first, inner), std::move(second_ids),
                  options.add_special_tokens ? tokenizer.row_template() : kBare, truncation);
}

}  // namespace linnet
