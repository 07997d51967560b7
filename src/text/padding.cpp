#include "text/padding.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace linnet {
namespace {

std::size_t padded_length(std::span<const TokenRow> rows, const Padding& padding) {
  if (padding.multiple_of == 0 || padding.multiple_of > kMaxPaddedIds ||
      padding.length.value_or(0) > kMaxPaddedIds) {
    fail(ErrorCode::invalid_argument,
         fmt::format("padding to a length of {} and a multiple of {}: at most {} are possible, and "
                     "at least a multiple of 1",
                     padding.length.value_or(0), padding.multiple_of, kMaxPaddedIds));
  }
  std::size_t length = padding.length.value_or(0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t size = rows[i].ids.size();
    if (padding.length && size > *padding.length) {
      fail(ErrorCode::invalid_argument,
           fmt::format("row {} has {} ids and does not fit into the length {} that all are padded "
                       "to; truncate it",
                       i, size, *padding.length));
    }
    length = std::max(length, size);
  }
  const std::size_t over = length % padding.multiple_of;
  return over == 0 ? length : length + padding.multiple_of - over;
}

}  // namespace

PaddedRows pad(std::span<const TokenRow> rows, const Padding& padding) {
  PaddedRows batch;
  batch.rows = rows.size();
  batch.length = padded_length(rows, padding);
  if (batch.length > kMaxPaddedIds / std::max<std::size_t>(batch.rows, 1)) {
    fail(ErrorCode::invalid_argument, fmt::format("{} rows padded to {} ids are more than {} ids",
                                                  batch.rows, batch.length, kMaxPaddedIds));
  }
  const std::size_t total = batch.rows * batch.length;
  batch.ids.assign(total, padding.id);
  batch.mask.assign(total, 0);
  batch.types.assign(total, padding.type);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TokenRow& row = rows[i];
    LINNET_CHECK(row.types.size() == row.ids.size(), "a row needs a type for each id");
    const std::size_t before = padding.side == Side::left ? batch.length - row.ids.size() : 0;
    const auto at = static_cast<std::ptrdiff_t>(i * batch.length + before);
    std::copy(row.ids.begin(), row.ids.end(), batch.ids.begin() + at);
    std::copy(row.types.begin(), row.types.end(), batch.types.begin() + at);
    std::fill_n(batch.mask.begin() + at, row.ids.size(), 1);
  }
  return batch;
}

}  // namespace linnet
