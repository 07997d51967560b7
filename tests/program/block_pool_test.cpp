#include "program/block_pool.h"

#include <doctest/doctest.h>

#include <thread>

#include "base/error.h"

namespace linnet {

TEST_CASE("a pool gives out as many blocks as it has, and takes them back") {
  const std::int64_t before = MemoryAccount::cache().active();
  auto pool = BlockPool::make(1000, 11);
  std::vector<BlockRef> blocks;
  for (int i = 0; i < 11; ++i) blocks.push_back(pool->take());
  CHECK(pool->used() == 11);
  CHECK(MemoryAccount::cache().active() - before == 2 * BlockPool::kSlabBlocks * 1000);
  CHECK_THROWS_AS(pool->take(), Error);
  blocks.pop_back();
  CHECK_NOTHROW(pool->take());
  blocks.clear();
  CHECK(pool->used() == 0);
  CHECK(MemoryAccount::cache().active() == before);
}

TEST_CASE("a block is its holders'") {
  auto pool = BlockPool::make(64);
  BlockRef block = pool->take();
  CHECK(!block.is_shared());
  BlockRef other = block;
  CHECK(block.is_shared());
  CHECK(other.same_block(block));
  block = BlockRef();
  CHECK(!other.is_shared());
  CHECK(pool->used() == 1);
  pool.reset();  // the block keeps it
  other.data()[63] = std::byte{1};
}

TEST_CASE("threads share a pool") {
  auto pool = BlockPool::make(64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      std::vector<BlockRef> held;
      for (int i = 0; i < 2000; ++i) {
        held.push_back(pool->take());
        held.back().data()[0] = static_cast<std::byte>(t);
        if (i % 3 == 0) held.push_back(held[held.size() / 2]);
        if (held.size() > 20) held.erase(held.begin(), held.begin() + 15);
        for (const BlockRef& block : held) CHECK(block.data()[0] == static_cast<std::byte>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(pool->used() == 0);
}

}  // namespace linnet
