// Who holds how much memory. Large buffers belong to a named account; `linnet run --json` and
// /stats show active, peak and cached bytes of each. One limit holds for all of them together.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace linnet {

class MemoryAccount {
 public:
  explicit MemoryAccount(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  std::int64_t active() const { return active_.load(std::memory_order_relaxed); }
  std::int64_t peak() const { return peak_.load(std::memory_order_relaxed); }  // of active
  // Kept for reuse and not counted as active; clear_memory_cache() frees it.
  std::int64_t cached() const { return cached_.load(std::memory_order_relaxed); }
  void add(std::int64_t bytes);
  void remove(std::int64_t bytes) { active_.fetch_sub(bytes, std::memory_order_relaxed); }
  void add_cached(std::int64_t bytes) { cached_.fetch_add(bytes, std::memory_order_relaxed); }
  void reset_peak() { peak_.store(active(), std::memory_order_relaxed); }

  // The accounts of this process, made on first use and never destroyed.
  static MemoryAccount& weights();
  static MemoryAccount& cache();
  static MemoryAccount& scratch();
  static std::vector<MemoryAccount*> all();

 private:
  std::string name_;
  std::atomic<std::int64_t> active_{0};
  std::atomic<std::int64_t> peak_{0};
  std::atomic<std::int64_t> cached_{0};
};

struct MemoryStats {
  std::int64_t active = 0;
  std::int64_t peak = 0;  // the accounts' peaks, which need not have been at the same time
  std::int64_t cached = 0;
};
// Of all accounts together; the event memory.stats tells them to whoever listens.
MemoryStats memory_stats();

// The most bytes that all buffers may hold together, those kept for reuse among them; 0: no limit.
// A buffer over it is Error{out_of_memory}, after everything kept for reuse was freed.
void set_memory_limit(std::int64_t bytes);
std::int64_t memory_limit();

// Raw memory, uninitialised, charged to an account. Aligned to cache lines; from 2 MB on to huge
// pages, which then back it where the system has them. A failed allocation, or one over the limit,
// is Error{out_of_memory} with the number of bytes.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::uint64_t bytes, MemoryAccount& account);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  // True: kept for reuse, so it counts as cached and not as active.
  void set_cached(bool cached);
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), size_ / sizeof(T)};
  }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  MemoryAccount* account_ = nullptr;
  bool cached_ = false;
};

}  // namespace linnet
