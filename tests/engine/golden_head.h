// The small golden models with a task head. They have no tokenizer of their own; one token per
// byte, id = byte - 8, turns every row of golden ids into a text and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/task_model.h"
#include "formats/safetensors.h"

namespace linnet::testing {

constexpr int kFirstByte = 8;  // 120 ids end with the last ASCII byte

inline std::shared_ptr<const Tokenizer> byte_tokenizer(std::vector<TokenId> before = {},
                                                       std::vector<TokenId> after = {}) {
  TokenizerData data;
  data.name = "bytes";
  for (int byte = kFirstByte; byte < 128; ++byte)
    data.vocab.emplace_back(1, static_cast<char>(byte));
  data.before = std::move(before);
  data.after = std::move(after);
  return std::make_shared<const Tokenizer>(std::move(data));
}

inline std::filesystem::path golden_folder(const std::string& head) {
  return std::filesystem::path(LINNET_SOURCE_DIR "/tests/golden/models") / ("head-" + head);
}

inline std::shared_ptr<const Model> golden_model(const std::string& folder,
                                                 const LoadOptions& options = {}) {
  static std::map<std::string, std::shared_ptr<const Model>> models;
  const bool plain = !options.task_head && options.labels.empty();
  std::shared_ptr<const Model>& model = models[plain ? folder : folder + "/changed"];
  if (!model || !plain) model = Model::load(open_model_files(golden_folder(folder)), options);
  return model;
}

// The real tokens of one row of a case, and what is expected for them.
struct GoldenRow {
  std::string text;
  std::vector<std::size_t> columns;                    // of the real tokens, in order
  std::map<std::string, std::vector<float>> expected;  // [columns of the case, width], or [width]
  std::string name;
};

inline std::vector<GoldenRow> golden_rows(const std::string& folder) {
  const auto path = golden_folder(folder);
  const Json head = Json::parse_file((path / "cases.json").string());
  const auto arrays = SafetensorsFile::open(path / "cases.safetensors");
  std::vector<GoldenRow> rows;
  for (const Json& test_case : head.at("cases").as_array()) {
    const Json* ids_entry = test_case.at("inputs").find("input_ids");
    if (ids_entry == nullptr || test_case.find("config") != nullptr) continue;
    const Tensor ids = arrays->tensor(ids_entry->at("tensor").as_string());
    const auto batch = static_cast<std::size_t>(ids.dim(0));
    const auto length = static_cast<std::size_t>(ids.dim(1));
    std::vector<std::int64_t> mask(batch * length, 1);
    if (const Json* entry = test_case.at("inputs").find("attention_mask"))
      mask = arrays->tensor(entry->at("tensor").as_string()).to_ints();
    for (std::size_t i = 0; i < batch; ++i) {
      GoldenRow row;
      row.name = test_case.at("name").as_string();
      for (std::size_t j = 0; j < length; ++j) {
        if (mask[i * length + j] == 0) continue;
        row.text += static_cast<char>(ids.to_ints()[i * length + j] + kFirstByte);
        row.columns.push_back(j);
      }
      for (const auto& [field, entry] : test_case.at("expected").as_object()) {
        if (field == "bumblebee_row_valid") continue;
        const std::vector<float> all = arrays->tensor(entry.at("tensor").as_string()).to_floats();
        const std::size_t part = all.size() / batch;
        row.expected[field] = {all.begin() + static_cast<std::ptrdiff_t>(i * part),
                               all.begin() + static_cast<std::ptrdiff_t>((i + 1) * part)};
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// ASCII texts of 0 to `longest` bytes; the same for the same seed.
inline std::vector<std::string> random_texts(std::size_t count, std::size_t longest,
                                             std::uint32_t seed) {
  std::vector<std::string> texts(count);
  std::uint32_t state = seed * 2654435761u + 1;
  const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (std::string& text : texts) {
    const std::size_t size = next() % (longest + 1);
    for (std::size_t i = 0; i < size; ++i)
      text += next() % 5 == 0 ? ' ' : static_cast<char>('!' + next() % 94);
  }
  return texts;
}

}  // namespace linnet::testing
