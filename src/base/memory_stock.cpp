#include "base/memory_stock.h"

namespace linnet {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<AnyMemoryStock*> stocks;
};

// Never destroyed: stocks may outlive static objects.
Registry& registry() {
  static Registry& instance = *new Registry();
  return instance;
}

}  // namespace

void clear_memory_cache() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (AnyMemoryStock* stock : all.stocks) stock->clear();
}

AnyMemoryStock::AnyMemoryStock() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.stocks.push_back(this);
}

void AnyMemoryStock::leave() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase(all.stocks, this);
}

}  // namespace linnet
