#include "base/memory_account.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <new>
#include <utility>

#include "base/error.h"
#include "base/memory_stock.h"
#include "base/telemetry.h"

namespace linnet {
namespace {

constexpr std::uint64_t kLine = 64, kHugePage = 2 << 20, kLargest = std::uint64_t{1} << 46;

std::atomic<std::int64_t> limit{0};
std::atomic<std::int64_t> held{0};  // by all buffers

std::align_val_t alignment(std::uint64_t bytes) {
  return std::align_val_t{bytes >= kHugePage ? kHugePage : kLine};
}

// Large buffers lie in huge pages where the system has them: weights are read from end to end for
// every token, and address translation then costs a third of the bandwidth. Only whole pages are
// asked for, or a buffer would hold up to one page more than it counts.
std::byte* allocate(std::uint64_t bytes) {
  void* data = ::operator new(bytes, alignment(bytes), std::nothrow);
  if (data != nullptr && bytes >= kHugePage) {
    ::madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  }
  return static_cast<std::byte*>(data);
}

void release(std::byte* data, std::uint64_t bytes) { ::operator delete(data, alignment(bytes)); }

bool fits(std::uint64_t bytes) {
  const std::int64_t most = limit.load(std::memory_order_relaxed);
  std::int64_t now = held.load(std::memory_order_relaxed);
  do {
    if (most > 0 && now + static_cast<std::int64_t>(bytes) > most) return false;
  } while (!held.compare_exchange_weak(now, now + static_cast<std::int64_t>(bytes),
                                       std::memory_order_relaxed));
  return true;
}

// Counts the bytes as held, or throws when they are over the limit.
void claim(std::uint64_t bytes, const MemoryAccount& account) {
  if (fits(bytes)) return;
  clear_memory_cache();
  if (fits(bytes)) return;
  std::string in_use;
  for (const MemoryAccount* each : MemoryAccount::all()) {
    in_use += fmt::format(", {} hold {}", each->name(), each->active());
  }
  fail(ErrorCode::out_of_memory,
       fmt::format("no memory for {} bytes of {}: the limit is {} bytes{}", bytes, account.name(),
                   memory_limit(), in_use));
}

}  // namespace

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

MemoryStats memory_stats() {
  MemoryStats stats;
  for (const MemoryAccount* account : MemoryAccount::all()) {
    stats.active += account->active();
    stats.peak += account->peak();
    stats.cached += account->cached();
  }
  Telemetry& bus = Telemetry::instance();
  if (bus.active()) {
    Json numbers = Json::object();
    numbers.set("active", stats.active).set("peak", stats.peak).set("cache", stats.cached);
    bus.emit("memory.stats", std::move(numbers));
  }
  return stats;
}

void set_memory_limit(std::int64_t bytes) { limit.store(bytes, std::memory_order_relaxed); }

std::int64_t memory_limit() { return limit.load(std::memory_order_relaxed); }

Buffer::Buffer(std::uint64_t bytes, MemoryAccount& account) : size_(bytes), account_(&account) {
  if (bytes == 0) return;
  if (bytes <= kLargest) {
    claim(bytes, account);
    data_ = allocate(bytes);
    if (data_ == nullptr) held.fetch_sub(static_cast<std::int64_t>(bytes));
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
      account_(other.account_),
      cached_(std::exchange(other.cached_, false)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(account_, other.account_);
  std::swap(cached_, other.cached_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  release(data_, size_);
  const auto bytes = static_cast<std::int64_t>(size_);
  cached_ ? account_->add_cached(-bytes) : account_->remove(bytes);
  held.fetch_sub(bytes, std::memory_order_relaxed);
}

void Buffer::set_cached(bool cached) {
  if (cached == cached_ || data_ == nullptr) return;
  const auto bytes = static_cast<std::int64_t>(size_);
  cached_ = cached;
  cached ? account_->remove(bytes) : account_->add(bytes);
  account_->add_cached(cached ? bytes : -bytes);
}

}  // namespace linnet
