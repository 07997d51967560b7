#include "cli/nearest.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace linnet {

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::array<std::vector<int>, 3> rows;  // two rows back, one row back, this row
  for (auto& row : rows) row.assign(width, 0);
  for (std::size_t j = 0; j < width; ++j) rows[2][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::rotate(rows.begin(), rows.begin() + 1, rows.end());
    rows[2][0] = static_cast<int>(i);
    for (std::size_t j = 1; j < width; ++j) {
      const int replaced = rows[1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[2][j] = std::min({rows[1][j] + 1, rows[2][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) rows[2][j] = std::min(rows[2][j], rows[0][j - 2] + 1);
    }
  }
  return rows[2][b.size()];
}

std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& names) {
  // Longer than any name by far: no slip, and not worth the table.
  if (word.empty() || word.size() > 64) return std::nullopt;
  const std::string* best = nullptr;
  int best_distance = word.size() <= 3 ? 1 : 2;
  std::vector<const std::string*> prefixed;
  for (const std::string& name : names) {
    if (name.starts_with(word)) prefixed.push_back(&name);
    const int distance = edit_distance(word, name);
    if (distance < best_distance || (distance == best_distance && best == nullptr)) {
      best = &name;
      best_distance = distance;
    }
  }
  if (best != nullptr) return *best;
  if (prefixed.size() == 1) return *prefixed.front();
  return std::nullopt;
}

}  // namespace linnet
