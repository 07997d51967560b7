#include "cli/id_list.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "base/json.h"
#include "cli/options.h"

namespace linnet {

std::vector<TokenId> parse_ids(const std::string& text, const std::string& name) {
  constexpr const char* kBetween = " \t\r\n,[]";
  constexpr IntegerRange kRange{std::numeric_limits<TokenId>::min(), kMaxTokenId};
  std::vector<TokenId> ids;
  for (std::size_t at = text.find_first_not_of(kBetween); at != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    try {
      ids.push_back(static_cast<TokenId>(parse_integer(text.substr(at, end - at), kRange)));
    } catch (const UsageError&) {
      throw UsageError(fmt::format("{}: id {}: expected a whole number from 0 to {}, found {}",
                                   name, ids.size(), kMaxTokenId,
                                   json_quote(text.substr(at, end - at))));
    }
    at = text.find_first_not_of(kBetween, end);
  }
  return ids;
}

std::string ids_text(const std::vector<TokenId>& ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

}  // namespace linnet
