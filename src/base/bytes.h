// The bounds-checked reader: the only way any untrusted bytes are read. Little endian.
// Every size is checked against what remains before use, every product for overflow.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace linnet {

using Bytes = std::span<const std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Sums and products of sizes that come from a file. Throw Error{corrupt_file} naming `what` on
// overflow of 64 bits.
std::uint64_t checked_mul(std::uint64_t a, std::uint64_t b, std::string_view what);
std::uint64_t checked_add(std::uint64_t a, std::uint64_t b, std::string_view what);

// Walks over the bytes of a named source (a path, "request body"). Reading past the end throws
// Error{corrupt_file} with name, offset, what was wanted and what was left.
class ByteReader {
 public:
  ByteReader(Bytes bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t remaining() const { return bytes_.size() - offset_; }
  std::uint64_t size() const { return bytes_.size(); }

  void seek(std::uint64_t offset);
  void skip(std::uint64_t count) { take(count, "skipped bytes"); }
  // The next `count` bytes, as a view into the source.
  Bytes take(std::uint64_t count, std::string_view what);
  // A part of the source that need not follow the current place.
  Bytes range(std::uint64_t offset, std::uint64_t count, std::string_view what) const;

  template <typename T>
  requires std::integral<T> || std::floating_point<T> T read(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  // Refuses a count of items that could not be there: count * item_size bytes must remain.
  std::uint64_t check_count(std::uint64_t count, std::uint64_t item_size,
                            std::string_view what) const;

  // Throws Error{corrupt_file} at the current offset.
  [[noreturn]] void corrupt(std::string_view what) const;

 private:
  Bytes bytes_;
  std::string name_;
  std::uint64_t offset_ = 0;
};

}  // namespace linnet
