#include "formats/model_card.h"

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/file_map.h"
#include "base/utf8.h"
#include "formats/presence.h"

namespace linnet {
namespace {

constexpr std::uint64_t kMaxCard = 4u << 20;
constexpr std::size_t kMaxLicense = 200;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kOuter = " \t\r\"'";
  const std::size_t begin = text.find_first_not_of(kOuter);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kOuter) - begin + 1);
}

// Between two lines of three dashes, "license: value" without indentation.
std::optional<std::string> license_of(std::string_view card) {
  if (!card.starts_with("---")) return std::nullopt;
  std::size_t at = card.find('\n');
  while (at != std::string_view::npos) {
    const std::size_t end = card.find('\n', at + 1);
    const std::string_view line = card.substr(at + 1, end - at - 1);
    if (line.starts_with("---")) break;
    constexpr std::string_view kKey = "license:";
    if (line.starts_with(kKey)) {
      const std::string_view value = trimmed(line.substr(kKey.size()));
      if (value.empty() || value.size() > kMaxLicense) return std::nullopt;
      return repair_utf8(value);
    }
    at = end;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> model_card_license(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "README.md";
  if (!is_there(path)) return std::nullopt;
  try {
    return license_of(read_text_file(path, kMaxCard));
  } catch (const Error&) {
    return std::nullopt;  // a broken card is no reason to refuse a model
  }
}

}  // namespace linnet
