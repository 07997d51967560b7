// Memory kept for reuse: what one call gives back, the next takes. It counts as cached meanwhile.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace linnet {

// Frees what every stock keeps.
void clear_memory_cache();

class AnyMemoryStock {
 public:
  AnyMemoryStock();
  AnyMemoryStock(const AnyMemoryStock&) = delete;
  AnyMemoryStock& operator=(const AnyMemoryStock&) = delete;
  virtual void clear() = 0;

 protected:
  ~AnyMemoryStock() = default;
  // To be called in the destructor of the class that has clear().
  void leave();
};

// T has set_cached(bool), which passes it on to its buffers.
template <typename T>
class MemoryStock final : public AnyMemoryStock {
 public:
  MemoryStock() = default;
  ~MemoryStock() { leave(); }

  // What was given back last, or a new one.
  std::unique_ptr<T> take() {
    std::unique_ptr<T> taken;
    {
      const std::lock_guard lock(mutex_);
      if (!kept_.empty()) {
        taken = std::move(kept_.back());
        kept_.pop_back();
      }
    }
    if (!taken) return std::make_unique<T>();
    taken->set_cached(false);
    return taken;
  }

  void give_back(std::unique_ptr<T> used) noexcept {
    try {
      used->set_cached(true);
      const std::lock_guard lock(mutex_);
      kept_.push_back(std::move(used));
    } catch (...) {
      // No memory to keep it: it is freed.
    }
  }

  void clear() override {
    std::vector<std::unique_ptr<T>> freed;
    const std::lock_guard lock(mutex_);
    freed.swap(kept_);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> kept_;
};

}  // namespace linnet
