// A prefix cache on disk: what was computed before a restart need not be computed after it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/prefix_cache.h"
#include "program/lane.h"

namespace linnet {

// A word that two lanes share only when they compute the same: made from a short run, so weights,
// formats and layouts are all in it.
std::uint64_t lane_fingerprint(const Lane& lane);

// Writes the full blocks, atomically; how many. The salts of partitions are in the file.
// Errors: io, not_found.
std::int64_t save_prefixes(const PrefixCache& prefixes, const Lane& lane,
                           const std::filesystem::path& path);

// Adds what the file holds to an empty cache, until the pool is full; how many blocks. Nothing is
// added from a file that is refused. Errors: not_found, io; corrupt_file for damage, another
// version, and blocks of another model, other weights or another lane.
std::int64_t restore_prefixes(PrefixCache& prefixes, BlockPool& pool, const Lane& lane,
                              const std::filesystem::path& path);

}  // namespace linnet
