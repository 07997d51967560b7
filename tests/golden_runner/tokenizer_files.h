// What the tokenizer and stream suites share: JSON lines, the tokenizers named in file names, and
// the hash of the golden files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/tokenizer.h"

namespace golden {

// Calls `line` for each line of the file, with its number from 1.
void for_each_line(const std::filesystem::path& path,
                   const std::function<void(int, const linnet::Json&)>& line);
std::vector<linnet::TokenId> ids_of(const linnet::Json& list);

// FNV-1a, 64 bit, as 16 hex digits; ids as 4 bytes, little endian.
std::string fnv(std::string_view bytes);
std::string fnv(std::span<const linnet::TokenId> ids);

// NAME_tokenizer.json in `folder`, or the published file for "smollm3"; empty when absent.
std::filesystem::path tokenizer_path(const std::filesystem::path& folder, const std::string& name);

// "want 3 ids, got 4; first difference at 2: 17, 18".
std::string difference(std::span<const linnet::TokenId> want, std::span<const linnet::TokenId> got);

}  // namespace golden
