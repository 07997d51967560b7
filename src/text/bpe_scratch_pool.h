// Scratch space between calls: what an earlier call has learnt about words serves the next one. A
// lease has its space alone, so that nothing is shared while text is encoded.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "text/bpe.h"

namespace linnet {

class BpeScratchPool {
 public:
  // Gives the space back when it ends.
  class Lease {
   public:
    explicit Lease(BpeScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    ~Lease() { pool_.give(std::move(scratch_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    BpeScratch& operator*() const { return *scratch_; }

   private:
    BpeScratchPool& pool_;
    std::unique_ptr<BpeScratch> scratch_;
  };

 private:
  // Half a megabyte each, and what the longest piece needed.
  static constexpr std::size_t kMaxIdle = 16;
  static constexpr std::size_t kMaxIdleSymbols = 1 << 14;

  std::unique_ptr<BpeScratch> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      idle_.reserve(kMaxIdle);  // so that giving back never fails
      return std::make_unique<BpeScratch>();
    }
    auto scratch = std::move(idle_.back());
    idle_.pop_back();
    return scratch;
  }
  void give(std::unique_ptr<BpeScratch> scratch) noexcept {
    if (scratch->symbols.capacity() > kMaxIdleSymbols) {
      scratch->symbols = {};
      scratch->heap = {};
    }
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMaxIdle) idle_.push_back(std::move(scratch));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<BpeScratch>> idle_;
};

}  // namespace linnet
