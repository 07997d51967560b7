#include "cli/byte_count.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "base/json.h"

namespace linnet {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr Unit kUnits[] = {{"", 1},
                           {"b", 1},
                           {"kb", 1000},
                           {"mb", 1000'000},
                           {"gb", 1000'000'000},
                           {"tb", 1000'000'000'000},
                           {"kib", std::uint64_t{1} << 10},
                           {"mib", std::uint64_t{1} << 20},
                           {"gib", std::uint64_t{1} << 30},
                           {"tib", std::uint64_t{1} << 40}};

}  // namespace

std::uint64_t parse_byte_count(const std::string& text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, count);
  std::string unit(stop, end);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Unit& known : kUnits) {
    if (code != std::errc{} || unit != known.name) continue;
    if (count > 0 && count <= kMost / known.bytes) return count * known.bytes;
  }
  throw UsageError(
      fmt::format("expected a size such as 5GB, 500MB or 2GiB, found {}", json_quote(text)));
}

OptionSetter to_byte_count(std::uint64_t& target) {
  return [&target](const std::string& text) { target = parse_byte_count(text); };
}

}  // namespace linnet
