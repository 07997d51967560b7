// Who holds how much memory. Large buffers belong to a named account; `linnet run --json` and
// /stats show active and peak bytes of each.
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
  std::int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  void add(std::int64_t bytes);
  void remove(std::int64_t bytes) { active_.fetch_sub(bytes, std::memory_order_relaxed); }
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
};

// Raw memory, uninitialised, aligned to cache lines, charged to an account.
// A failed allocation is Error{out_of_memory} with the number of bytes.
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
};

}  // namespace linnet
