#include <fmt/core.h>

#include <string>

#include "base/error.h"
#include "base/memory_account.h"
#include "engine/lanes.h"

namespace linnet {
namespace {

std::string size_text(std::uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  return bytes < 1000000000 ? fmt::format("{:.1f} MB", number / 1e6)
                            : fmt::format("{:.2f} GB", number / 1e9);
}

class MemoryCheck {
 public:
  MemoryCheck(const Program& program, const LaneMemoryOf& memory_of, std::uint64_t limit,
              std::uint64_t in_use)
      : program_(program), memory_of_(memory_of), limit_(limit), in_use_(in_use) {}

  struct Need {
    LaneMemory lane;
    std::uint64_t cache = 0;
    std::uint64_t scratch = 0;
    std::uint64_t total = 0;
  };
  // None for weights that cannot be had so.
  std::optional<Need> need(const LaneChoice& choice, std::int64_t context) const {
    const std::optional<LaneMemory> memory = memory_of_(choice);
    if (!memory) return std::nullopt;
    Need need{*memory};
    constexpr std::int64_t kSlab = BlockPool::kSlabBlocks * KvCache::kBlockPositions;
    const std::int64_t slabs = (context - 1) / kSlab + 1;
    need.cache = static_cast<std::uint64_t>(slabs * BlockPool::kSlabBlocks * need.lane.cache_block);
    need.scratch = lane_scratch(choice, program_, context);
    need.total = need.lane.weights + need.cache + need.scratch + in_use_;
    return need;
  }
  bool fits(const LaneChoice& choice, std::int64_t context) const {
    const std::optional<Need> need = this->need(choice, context);
    return need && need->total <= limit_;
  }
  // The longest context that fits, up to `most`; 0: none.
  std::int64_t longest(const LaneChoice& choice, std::int64_t most) const {
    std::int64_t low = 0;
    for (std::int64_t high = most; low < high;) {
      const std::int64_t middle = high - (high - low) / 2;
      if (fits(choice, middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  // What would fit, in the words of the command line.
  std::string advice(const LaneChoice& choice, std::int64_t context) const {
    std::string text;
    const auto add = [&](const LaneChoice& other, std::string options) {
      const std::int64_t longest = this->longest(other, context);
      if (longest == 0) return;
      if (longest < context) options += fmt::format(" --max-context {}", longest);
      text += (text.empty() ? "It fits with" : ", or with") + options;
    };
    add(choice, "");
    const bool is_native = need(choice, context)->lane.lane == "native";
    if (is_native && choice.cache != "i8") {
      LaneChoice other = choice;
      other.cache = "i8";
      add(other, " --cache i8");
    }
    for (const char* format : {"i8", "n4"}) {
      if (!is_native || choice.weights == "n4" || choice.weights == format) continue;
      LaneChoice other = choice;
      other.weights = format;
      other.cache = "i8";
      add(other, fmt::format(" --weights {} --cache i8", format));
    }
    return text.empty() ? "No other format of its weights and no shorter context would fit" : text;
  }

 private:
  const Program& program_;
  const LaneMemoryOf& memory_of_;
  std::uint64_t limit_;
  std::uint64_t in_use_;
};

}  // namespace

void require_memory(const LaneChoice& choice, const Program& program, const LaneMemoryOf& memory_of,
                    std::int64_t context) {
  const std::uint64_t limit = choice.memory_limit;
  if (limit == 0) return;
  const auto in_use = static_cast<std::uint64_t>(memory_stats().active);
  const MemoryCheck check(program, memory_of, limit, in_use);
  const MemoryCheck::Need need = check.need(choice, context).value();
  if (need.total <= limit) return;
  std::string sum =
      fmt::format("{} of weights ({}) + {} of cache ({} positions{}) + {} of scratch",
                  size_text(need.lane.weights), need.lane.format, size_text(need.cache), context,
                  need.lane.lane == "native" && choice.cache != "auto" ? ", " + choice.cache : "",
                  size_text(need.scratch));
  if (in_use > 0) sum += fmt::format(" + {} in use already", size_text(in_use));
  fail(ErrorCode::out_of_memory,
       fmt::format("the model does not fit the memory limit of {}: {} = {}, {} too much. {}",
                   size_text(limit), sum, size_text(need.total), size_text(need.total - limit),
                   check.advice(choice, context)));
}

}  // namespace linnet
