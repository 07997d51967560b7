// The name that someone may have meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linnet {

// Letters inserted, deleted, replaced, or swapped with their neighbour.
int edit_distance(std::string_view a, std::string_view b);
// The nearest of `names`, if it is near enough to be a slip; a unique prefix counts as near.
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& names);

}  // namespace linnet
