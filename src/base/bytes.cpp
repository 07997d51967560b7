#include "base/bytes.h"

#include <fmt/core.h>

#include "base/error.h"

namespace linnet {

std::uint64_t checked_mul(std::uint64_t a, std::uint64_t b, std::string_view what) {
  std::uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) {
    fail(ErrorCode::corrupt_file, fmt::format("{}: {} x {} is larger than 64 bits", what, a, b));
  }
  return product;
}

std::uint64_t checked_add(std::uint64_t a, std::uint64_t b, std::string_view what) {
  std::uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) {
    fail(ErrorCode::corrupt_file, fmt::format("{}: {} + {} is larger than 64 bits", what, a, b));
  }
  return sum;
}

void ByteReader::seek(std::uint64_t offset) {
  if (offset > bytes_.size()) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: offset {} is outside of the {} bytes", name_, offset, bytes_.size()));
  }
  offset_ = offset;
}

Bytes ByteReader::take(std::uint64_t count, std::string_view what) {
  const Bytes part = range(offset_, count, what);
  offset_ += count;
  return part;
}

Bytes ByteReader::range(std::uint64_t offset, std::uint64_t count, std::string_view what) const {
  if (offset > bytes_.size() || count > bytes_.size() - offset) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: {} at offset {} needs {} bytes, but the file ends at {} (cut short?)",
                     name_, what, offset, count, bytes_.size()));
  }
  return bytes_.subspan(offset, count);
}

std::uint64_t ByteReader::check_count(std::uint64_t count, std::uint64_t item_size,
                                      std::string_view what) const {
  if (item_size != 0 && count > remaining() / item_size) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: {} at offset {} says {} items of at least {} bytes, but {} bytes remain",
                     name_, what, offset_, count, item_size, remaining()));
  }
  return count;
}

void ByteReader::corrupt(std::string_view what) const {
  fail(ErrorCode::corrupt_file, fmt::format("{}: at offset {}: {}", name_, offset_, what));
}

}  // namespace linnet
