#include "engine/prefix_file.h"

#include <fmt/core.h>

#include <array>
#include <cstring>
#include <numeric>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/file_map.h"

namespace linnet {
namespace {

// Little endian, without padding: "LNTPREFX", u32 version, u32 positions of a block, u64
// fingerprint of the lane, u64 bytes of a block, u64 count, u64 checksum of all these; then each
// block:
//   i64 parent (index, -1: none), i64 rope length, u32 bytes of the salt, the salt,
//   u32 ids of 4 bytes each, the block, u64 checksum of all these.
constexpr std::string_view kMagic = "LNTPREFX";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMostSalt = 4096;

class RecordBytes {
 public:
  template <typename T>
  void add(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
  }
  void add_bytes(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void write(AtomicFile& file) {
    add(checksum64(bytes_));
    file.write(bytes_);
    bytes_.clear();
  }

 private:
  std::vector<std::byte> bytes_;
};

void check_sum(ByteReader& reader, std::uint64_t begin, std::string_view what) {
  const std::uint64_t end = reader.offset();
  const Bytes covered = reader.range(begin, end - begin, what);
  if (reader.read<std::uint64_t>("checksum") != checksum64(covered)) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: {} at offset {} is damaged (its checksum differs)", reader.name(), what,
                     begin));
  }
}

struct Block {
  std::int64_t parent;
  PrefixPartition partition;
  Bytes ids;
  Bytes content;
};

std::uint64_t read_head(ByteReader& reader, const Lane& lane) {
  if (as_text(reader.take(kMagic.size(), "magic")) != kMagic) {
    fail(ErrorCode::corrupt_file, reader.name() + " is no file of a prefix cache");
  }
  const auto version = reader.read<std::uint32_t>("version");
  if (version != kVersion) {
    fail(ErrorCode::corrupt_file, fmt::format("{} has version {} of prefix caches, expected {}: "
                                              "delete it, it will be made again",
                                              reader.name(), version, kVersion));
  }
  const auto positions = reader.read<std::uint32_t>("positions of a block");
  const auto fingerprint = reader.read<std::uint64_t>("fingerprint");
  const auto block_bytes = reader.read<std::uint64_t>("bytes of a block");
  const auto count = reader.read<std::uint64_t>("count");
  check_sum(reader, 0, "the head");
  if (fingerprint != lane_fingerprint(lane) || positions != KvCache::kBlockPositions ||
      block_bytes != static_cast<std::uint64_t>(lane.block_bytes())) {
    fail(ErrorCode::corrupt_file,
         reader.name() +
             " was written for another model, other weights or another lane: delete "
             "it, or start with what it was written for");
  }
  return reader.check_count(count, block_bytes, "blocks");
}

Block read_block(ByteReader& reader, std::uint64_t index, const Lane& lane) {
  const std::uint64_t begin = reader.offset();
  Block block;
  block.parent = reader.read<std::int64_t>("parent");
  if (block.parent < -1 || block.parent >= static_cast<std::int64_t>(index)) {
    reader.corrupt(fmt::format("parent {} of block {}", block.parent, index));
  }
  block.partition.rope_length = reader.read<std::int64_t>("rope length");
  const auto salt = reader.read<std::uint32_t>("bytes of the salt");
  if (salt > kMostSalt) reader.corrupt(fmt::format("a salt of {} bytes", salt));
  block.partition.salt = as_text(reader.take(salt, "salt"));
  block.ids = reader.take(KvCache::kBlockPositions * sizeof(TokenId), "ids");
  block.content = reader.take(static_cast<std::uint64_t>(lane.block_bytes()), "block");
  check_sum(reader, begin, fmt::format("block {}", index));
  return block;
}

}  // namespace

std::uint64_t lane_fingerprint(const Lane& lane) {
  constexpr std::int32_t kRows = 8;
  const Program& program = lane.program();
  std::array<std::int32_t, kRows> tokens{}, positions{};
  for (std::int32_t i = 0; i < kRows; ++i) {
    const auto index = static_cast<std::size_t>(i);
    tokens[index] = static_cast<std::int32_t>((i * 977 + 31) % program.vocab);
    positions[index] = i;
  }
  KvCache cache = lane.make_cache();
  const SequenceRows rows{&cache, kRows};
  const std::int32_t last = kRows - 1;
  Batch batch;
  batch.tokens = tokens, batch.positions = positions, batch.sequences = {&rows, 1};
  batch.selected = {&last, 1};
  std::vector<float> seen = lane.run(batch);
  std::vector<float> key(static_cast<std::size_t>(program.kv_width)), value(key.size());
  for (std::int64_t layer = 0; layer < program.layers; ++layer) {
    lane.read_cache(cache, layer, last, key.data(), value.data());
    seen.insert(seen.end(), key.begin(), key.end());
    seen.insert(seen.end(), value.begin(), value.end());
  }
  const std::string layout = fmt::format("{} {}", lane.name(), lane.block_bytes());
  return checksum64(std::as_bytes(std::span(seen))) ^ checksum64(as_bytes(layout));
}

std::int64_t save_prefixes(const PrefixCache& prefixes, const Lane& lane,
                           const std::filesystem::path& path) {
  const auto entries = prefixes.entries();
  std::vector<std::int64_t> place(entries.size(), -1);  // in the file
  std::int64_t count = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool fits = entries[i].ids.size() == KvCache::kBlockPositions &&
                      entries[i].partition->salt.size() <= kMostSalt;
    if (fits) place[i] = count++;
  }
  AtomicFile file(path);
  RecordBytes record;
  record.add_bytes(as_bytes(kMagic));
  record.add(kVersion);
  record.add(static_cast<std::uint32_t>(KvCache::kBlockPositions));
  record.add(lane_fingerprint(lane));
  record.add(static_cast<std::uint64_t>(lane.block_bytes()));
  record.add(static_cast<std::uint64_t>(count));
  record.write(file);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (place[i] < 0) continue;
    const PrefixCache::Entry& entry = entries[i];
    record.add(entry.parent < 0 ? entry.parent : place[static_cast<std::size_t>(entry.parent)]);
    record.add(entry.partition->rope_length);
    record.add(static_cast<std::uint32_t>(entry.partition->salt.size()));
    record.add_bytes(as_bytes(entry.partition->salt));
    record.add_bytes(std::as_bytes(entry.ids));
    record.add_bytes({entry.block->data(), static_cast<std::size_t>(lane.block_bytes())});
    record.write(file);
  }
  file.commit(0600);
  return count;
}

std::int64_t restore_prefixes(PrefixCache& prefixes, BlockPool& pool, const Lane& lane,
                              const std::filesystem::path& path) {
  LINNET_CHECK(prefixes.blocks() == 0);
  const auto map = FileMap::open(path);
  ByteReader reader(map->bytes(), path.string());
  const std::uint64_t count = read_head(reader, lane);
  std::vector<Block> blocks;
  blocks.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    blocks.push_back(read_block(reader, i, lane));
    const std::int64_t parent = blocks.back().parent;
    if (parent >= 0 &&
        blocks[static_cast<std::size_t>(parent)].partition != blocks.back().partition) {
      reader.corrupt(fmt::format("block {} and its parent are of different partitions", i));
    }
  }
  if (reader.remaining() != 0) reader.corrupt("bytes after the last block");
  std::vector<PrefixCache::Node*> nodes(blocks.size(), nullptr);
  std::int64_t restored = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    const bool is_first = block.parent < 0;
    PrefixCache::Node* parent = is_first ? nullptr : nodes[static_cast<std::size_t>(block.parent)];
    if ((!is_first && parent == nullptr) || pool.used() >= pool.capacity()) continue;
    BlockRef room = pool.take();
    std::memcpy(room.data(), block.content.data(), block.content.size());
    std::array<TokenId, KvCache::kBlockPositions> ids;
    std::memcpy(ids.data(), block.ids.data(), sizeof ids);
    nodes[i] = prefixes.restore(block.partition, parent, ids, std::move(room));
    ++restored;
  }
  return restored;
}

}  // namespace linnet
