#include "allocation/failing_allocation.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> left{0};  // allocations until the one that fails; 0 and below: none will

void* get(std::size_t size, std::size_t alignment) noexcept {
  if (left.load(std::memory_order_relaxed) > 0 && left.fetch_sub(1) == 1) return nullptr;
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, whole > 0 ? whole : alignment);
}

void* get_or_throw(std::size_t size, std::size_t alignment) {
  if (void* memory = get(size, alignment)) return memory;
  throw std::bad_alloc();
}

constexpr std::size_t kPlain = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t size) { return get_or_throw(size, kPlain); }
void* operator new[](std::size_t size) { return get_or_throw(size, kPlain); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return get_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return get_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return get(size, kPlain); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return get(size, kPlain); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return get(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return get(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace linnet::testing {

FailingAllocation::FailingAllocation(std::int64_t n) { left.store(n); }

FailingAllocation::~FailingAllocation() { left.store(0); }

bool FailingAllocation::has_failed() const { return left.load() <= 0; }

}  // namespace linnet::testing
