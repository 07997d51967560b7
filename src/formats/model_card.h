// The licence of a model, from the front matter of its README.md (the "model card").
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace linnet {

// "apache-2.0". None without a card, without the field, or when the card cannot be read.
std::optional<std::string> model_card_license(const std::filesystem::path& folder);

}  // namespace linnet
