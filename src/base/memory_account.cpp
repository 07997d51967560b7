#include "base/memory_account.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace linnet {

void MemoryAccount::add(std::int64_t bytes) {
  const std::int64_t now = active_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

MemoryAccount& MemoryAccount::weights() {
  static MemoryAccount& account = *new MemoryAccount("weights");
  return account;
}

MemoryAccount& MemoryAccount::cache() {
  static MemoryAccount& account = *new MemoryAccount("cache");
  return account;
}

MemoryAccount& MemoryAccount::scratch() {
  static MemoryAccount& account = *new MemoryAccount("scratch");
  return account;
}

std::vector<MemoryAccount*> MemoryAccount::all() { return {&weights(), &cache(), &scratch()}; }

Buffer::Buffer(std::uint64_t bytes, MemoryAccount& account) : size_(bytes), account_(&account) {
  if (bytes == 0) return;
  // Large buffers lie in huge pages where the system has them: weights are read from end to end for
  // every token, and address translation then costs a third of the bandwidth.
  constexpr std::uint64_t kLine = 64, kHugePage = 2 << 20, kLargest = std::uint64_t{1} << 46;
  const std::uint64_t unit = bytes >= 2 * kHugePage ? kHugePage : kLine;
  if (bytes <= kLargest) {
    const std::uint64_t whole = (bytes + unit - 1) / unit * unit;
    data_ = static_cast<std::byte*>(std::aligned_alloc(unit, whole));
    if (data_ != nullptr && unit == kHugePage) ::madvise(data_, whole, MADV_HUGEPAGE);
  }
  if (data_ == nullptr) {
    fail(ErrorCode::out_of_memory,
         fmt::format("no memory for {} bytes of {}", bytes, account.name()));
  }
  account.add(static_cast<std::int64_t>(bytes));
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      account_(other.account_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(account_, other.account_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  std::free(data_);
  account_->remove(static_cast<std::int64_t>(size_));
}

}  // namespace linnet
