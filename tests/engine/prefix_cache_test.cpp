#include "engine/prefix_cache.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "engine/some_ids.h"

namespace linnet {
namespace {

// A cache whose blocks bear the ids in them.
KvCache computed(const std::shared_ptr<BlockPool>& pool, const Ids& ids) {
  KvCache cache(pool);
  cache.reserve(std::ssize(ids));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto* block = reinterpret_cast<TokenId*>(cache.block(static_cast<std::int64_t>(i) / 64));
    block[i % 64] = ids[i];
  }
  cache.commit(std::ssize(ids));
  return cache;
}

void check_match(const PrefixCache::Match& match, const Ids& ids) {
  REQUIRE(match.length <= std::ssize(ids));
  REQUIRE(std::ssize(match.blocks) == KvCache::blocks_for(match.length));
  for (std::size_t i = 0; i < static_cast<std::size_t>(match.length); ++i) {
    CHECK(reinterpret_cast<const TokenId*>(match.blocks[i / 64].data())[i % 64] == ids[i]);
  }
}

}  // namespace

TEST_CASE("the longest common beginning is found, to the position") {
  auto pool = BlockPool::make(64 * sizeof(TokenId));
  PrefixCache prefixes;
  const Ids first = range(0, 200), second = range(0, 100) + range(1000, 150);
  for (const Ids& ids : {first, second}) {
    KvCache cache = computed(pool, ids);
    prefixes.keep({}, ids, cache);
  }
  CHECK(prefixes.blocks() == 7);  // the first block is one
  CHECK(pool->used() == 7);
  const auto length = [&](const Ids& ids) {
    const auto match = prefixes.find({}, ids);
    check_match(match, ids);
    return match.length;
  };
  CHECK(length(first) == 200);
  CHECK(length(second) == 250);
  CHECK(length(range(0, 150) + range(5, 20)) == 150);
  CHECK(length(range(0, 30)) == 30);
  CHECK(length(range(0, 105) + range(1005, 20)) == 105);
  CHECK(length(second + range(0, 90)) == 250);
  CHECK(length(range(1, 90)) == 0);
  CHECK(prefixes.find({"salt", 0}, first).length == 0);
  CHECK(prefixes.find({"", 200}, first).length == 0);
  prefixes.clear();
  CHECK(pool->used() == 0);
}

TEST_CASE("equal blocks become one, and fuller ones replace those part full") {
  auto pool = BlockPool::make(64 * sizeof(TokenId));
  PrefixCache prefixes;
  const Ids ids = range(0, 130);
  KvCache first = computed(pool, ids), second = computed(pool, ids);
  prefixes.keep({}, std::span(ids).first(128), first);
  prefixes.keep({}, std::span(ids).first(128), second);
  CHECK(pool->used() == 4);
  CHECK(first.block(1) == second.block(1));
  CHECK(first.block(2) != second.block(2));
  prefixes.keep({}, ids, first);
  CHECK(prefixes.blocks() == 3);
  const Ids more = range(0, 150);
  KvCache third = computed(pool, more);
  prefixes.keep({}, more, third);
  CHECK(prefixes.blocks() == 3);
  CHECK(prefixes.find({}, more).length == 150);
  prefixes.keep({}, ids, second);  // less than is there already
  CHECK(prefixes.blocks() == 3);
}

TEST_CASE("the longest unused goes first, and nothing that is in use") {
  auto pool = BlockPool::make(64 * sizeof(TokenId));
  PrefixCache prefixes;
  std::vector<Ids> all;
  for (TokenId i = 0; i < 4; ++i) all.push_back(range(0, 64) + range(1000 * (i + 1), 128));
  for (const Ids& ids : all) {
    KvCache cache = computed(pool, ids);
    prefixes.keep({}, ids, cache);
  }
  KvCache holder(pool);
  {
    const auto match = prefixes.find({}, all[1]);
    holder.begin_with(match.blocks, match.length, match.length);
  }
  CHECK(prefixes.evictable() == 6);
  prefixes.find({}, all[0]);
  CHECK(prefixes.evict(3) == 3);
  CHECK(prefixes.find({}, all[2]).length == 64);
  CHECK(prefixes.find({}, all[3]).length == 128);
  CHECK(prefixes.find({}, all[0]).length == 192);
  CHECK(prefixes.evict(100) == 3);
  CHECK(prefixes.blocks() == 3);
  CHECK(prefixes.find({}, all[1]).length == 192);
  holder.truncate(0);
  CHECK(prefixes.evict(100) == 3);
  CHECK(pool->used() == 0);
  CHECK(prefixes.stats().evicted == 9);
}

TEST_CASE("random sequences: what is found is right, and no block is lost") {
  auto pool = BlockPool::make(64 * sizeof(TokenId));
  PrefixCache prefixes;
  RandomStream random(5);
  const auto below = [&](int n) {
    return static_cast<int>(random.next_uniform() * static_cast<float>(n));
  };
  std::vector<Ids> seen = {range(0, 10)};
  for (int i = 0; i < 600; ++i) {
    const Ids& from = seen[static_cast<std::size_t>(below(static_cast<int>(seen.size())))];
    Ids ids(from.begin(), from.begin() + below(static_cast<int>(from.size())) + 1);
    const int more = below(150);
    for (int k = 0; k < more; ++k) ids.push_back(below(3));
    auto match = prefixes.find({}, ids);
    check_match(match, ids);
    KvCache cache = computed(pool, ids);
    if (match.length > 0 && match.length < std::ssize(ids)) {
      KvCache taken(pool);
      taken.begin_with(match.blocks, match.length, 0);
      match.blocks.clear();
      taken.reserve(1);  // writes to its own copy of the last block
      if (match.length % 64 != 0) {
        reinterpret_cast<TokenId*>(taken.block(match.length / 64))[match.length % 64] = -1;
      }
    }
    match.blocks.clear();
    prefixes.keep({}, ids, cache);
    seen.push_back(ids);
    cache.truncate(0);
    CHECK(pool->used() == prefixes.blocks());
    if (prefixes.blocks() > 60) prefixes.evict(20);
  }
  CHECK(prefixes.evictable() == prefixes.blocks());
}

}  // namespace linnet
