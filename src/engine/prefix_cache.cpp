#include "engine/prefix_cache.h"

#include <algorithm>
#include <queue>

#include "base/error.h"

namespace linnet {

struct PrefixCache::Node {
  Node* parent = nullptr;
  std::vector<TokenId> ids;  // up to a block's positions; fewer: a leaf
  BlockRef block;
  std::uint64_t used = 0;
  std::multimap<TokenId, std::unique_ptr<Node>> children;  // by their first id
};

namespace {

constexpr auto kPositions = static_cast<std::size_t>(KvCache::kBlockPositions);

std::size_t common_length(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

}  // namespace

PrefixCache::PrefixCache() = default;
PrefixCache::~PrefixCache() { clear(); }

PrefixCache::Node& PrefixCache::root(const PrefixPartition& partition) {
  auto& root = roots_[partition];
  if (!root) root = std::make_unique<Node>();
  return *root;
}

PrefixCache::Match PrefixCache::find(const PrefixPartition& partition,
                                     std::span<const TokenId> ids) {
  Match match;
  const auto found = roots_.find(partition);
  if (found == roots_.end()) return match;
  ++time_;
  Node* node = found->second.get();
  while (!ids.empty()) {
    Node* best = nullptr;
    std::size_t most = 0;
    const auto range = node->children.equal_range(ids.front());
    for (auto child = range.first; child != range.second; ++child) {
      const std::size_t common = common_length(child->second->ids, ids);
      if (common > most) most = common, best = child->second.get();
    }
    if (best == nullptr) break;
    best->used = time_;
    match.blocks.push_back(best->block);
    match.length += static_cast<std::int64_t>(most);
    if (most < kPositions) break;
    ids = ids.subspan(most);
    node = best;
  }
  return match;
}

void PrefixCache::count(std::int64_t hits, std::int64_t misses) {
  stats_.hits += hits;
  stats_.misses += misses;
}

PrefixCache::Node* PrefixCache::add(Node& parent, std::span<const TokenId> ids, BlockRef block) {
  auto node = std::make_unique<Node>();
  node->parent = &parent;
  node->ids.assign(ids.begin(), ids.end());
  node->block = std::move(block);
  node->used = time_;
  Node* added = parent.children.emplace(ids.front(), std::move(node))->second.get();
  ++blocks_;
  return added;
}

// A part full block is of no use beside a fuller one.
void PrefixCache::drop_part_of(Node& parent, std::span<const TokenId> ids) {
  const auto range = parent.children.equal_range(ids.front());
  for (auto child = range.first; child != range.second; ++child) {
    const std::vector<TokenId>& part = child->second->ids;
    if (part.size() < ids.size() && common_length(part, ids) == part.size()) {
      parent.children.erase(child);
      --blocks_;
      return;
    }
  }
}

void PrefixCache::keep(const PrefixPartition& partition, std::span<const TokenId> ids,
                       KvCache& cache) {
  LINNET_CHECK(static_cast<std::int64_t>(ids.size()) <= cache.length());
  if (ids.empty()) return;
  ++time_;
  Node* node = &root(partition);
  for (std::int64_t index = 0; !ids.empty(); ++index) {
    const auto own = ids.first(std::min(ids.size(), kPositions));
    Node* same = nullptr;
    bool is_held = false;  // by a block that begins with all of it
    const auto range = node->children.equal_range(own.front());
    for (auto child = range.first; child != range.second && same == nullptr; ++child) {
      if (common_length(child->second->ids, own) < own.size()) continue;
      is_held = true;
      child->second->used = time_;
      if (child->second->ids.size() == own.size()) same = child->second.get();
    }
    if (own.size() < kPositions && is_held) return;
    const BlockRef& block = cache.blocks()[static_cast<std::size_t>(index)];
    if (same == nullptr) {
      drop_part_of(*node, own);
      same = add(*node, own, block);
    } else if (!same->block.same_block(block)) {
      cache.replace(index, same->block);
    }
    same->used = time_;
    node = same;
    ids = ids.subspan(own.size());
  }
}

std::int64_t PrefixCache::evict(std::int64_t count) {
  const auto is_free = [](const Node& node) {
    return node.parent != nullptr && node.children.empty() && !node.block.is_shared();
  };
  const auto is_newer = [](const Node* a, const Node* b) { return a->used > b->used; };
  std::priority_queue<Node*, std::vector<Node*>, decltype(is_newer)> oldest(is_newer);
  std::vector<Node*> open;
  for (const auto& root : roots_) open.push_back(root.second.get());
  while (!open.empty()) {
    Node* node = open.back();
    open.pop_back();
    if (is_free(*node)) oldest.push(node);
    for (const auto& child : node->children) open.push_back(child.second.get());
  }
  std::int64_t freed = 0;
  while (freed < count && !oldest.empty()) {
    Node* node = oldest.top();
    oldest.pop();
    Node* parent = node->parent;
    const auto range = parent->children.equal_range(node->ids.front());
    parent->children.erase(std::find_if(
        range.first, range.second, [&](const auto& each) { return each.second.get() == node; }));
    ++freed;
    if (is_free(*parent)) oldest.push(parent);
  }
  blocks_ -= freed;
  stats_.evicted += freed;
  std::erase_if(roots_, [](const auto& root) { return root.second->children.empty(); });
  return freed;
}

std::int64_t PrefixCache::evictable() const {
  // A sequence holds every block before one that it holds, so what is held by nobody else has only
  // such blocks behind it.
  std::int64_t count = 0;
  for (const Entry& entry : entries()) count += entry.block->is_shared() ? 0 : 1;
  return count;
}

void PrefixCache::clear() {
  // Leaves first: a chain of nodes is too deep for destructors that call each other.
  std::vector<std::unique_ptr<Node>> open;
  for (auto& root : roots_) open.push_back(std::move(root.second));
  roots_.clear();
  blocks_ = 0;
  while (!open.empty()) {
    const std::unique_ptr<Node> node = std::move(open.back());
    open.pop_back();
    for (auto& child : node->children) open.push_back(std::move(child.second));
  }
}

std::vector<PrefixCache::Entry> PrefixCache::entries() const {
  struct Open {
    const Node* node;
    const PrefixPartition* partition;
    std::int64_t parent;
  };
  std::vector<Entry> entries;
  std::vector<Open> open;
  for (const auto& root : roots_) open.push_back({root.second.get(), &root.first, -1});
  while (!open.empty()) {
    const Open at = open.back();
    open.pop_back();
    std::int64_t index = -1;
    if (at.node->parent != nullptr) {
      index = static_cast<std::int64_t>(entries.size());
      entries.push_back({at.partition, at.parent, at.node->ids, &at.node->block});
    }
    for (const auto& child : at.node->children) {
      open.push_back({child.second.get(), at.partition, index});
    }
  }
  return entries;
}

PrefixCache::Node* PrefixCache::restore(const PrefixPartition& partition, Node* parent,
                                        std::span<const TokenId> ids, BlockRef block) {
  LINNET_CHECK(!ids.empty() && ids.size() <= kPositions);
  LINNET_CHECK(parent == nullptr || parent->ids.size() == kPositions);
  return add(parent == nullptr ? root(partition) : *parent, ids, std::move(block));
}

}  // namespace linnet
