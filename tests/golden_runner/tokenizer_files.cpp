#include "golden_runner/tokenizer_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "golden_runner/suite.h"

namespace fs = std::filesystem;

namespace golden {

using linnet::Json;
using linnet::TokenId;

void for_each_line(const fs::path& path, const std::function<void(int, const Json&)>& line) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    if (!text.empty()) line(number, Json::parse(text, fmt::format("{}:{}", path.string(), number)));
  }
}

std::vector<TokenId> ids_of(const Json& list) {
  std::vector<TokenId> ids;
  for (const Json& id : list.as_array("ids")) ids.push_back(static_cast<TokenId>(id.as_int("id")));
  return ids;
}

std::string fnv(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  return fmt::format("{:016x}", hash);
}

std::string fnv(std::span<const TokenId> ids) {
  std::string bytes;
  for (const TokenId id : ids) {
    const auto word = static_cast<std::uint32_t>(id);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(word >> shift));
  }
  return fnv(bytes);
}

fs::path tokenizer_path(const fs::path& folder, const std::string& name) {
  const fs::path own = folder / (name + "_tokenizer.json");
  if (fs::exists(own)) return own;
  // The published file is large and lies once for all golden sets; the other ones may lie in the
  // shared set when a second set brings cases only.
  if (name == "smollm3") return find_shared(folder, "data/smollm3_tokenizer/tokenizer.json");
  return find_shared(folder, "golden/text/tokenizer/" + name + "_tokenizer.json");
}

std::string difference(std::span<const TokenId> want, std::span<const TokenId> got) {
  const auto [a, b] = std::mismatch(want.begin(), want.end(), got.begin(), got.end());
  const auto shown = [](auto at, std::span<const TokenId> ids) {
    return at == ids.end() ? std::string("the end") : std::to_string(*at);
  };
  return fmt::format("want {} ids, got {}; first difference at {}: want {}, got {}", want.size(),
                     got.size(), a - want.begin(), shown(a, want), shown(b, got));
}

}  // namespace golden
