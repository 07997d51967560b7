#include "text/token_rows.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/file_map.h"
#include "base/json.h"
#include "text/clean_up_spaces.h"
#include "text/length_buckets.h"
#include "text/padding.h"
#include "text/tokenizer_json.h"
#include "text/toy_tokenizer.h"

using namespace linnet;
using Ids = std::vector<TokenId>;

namespace {

const std::filesystem::path kGolden =
    std::filesystem::path(LINNET_SOURCE_DIR) / "tests/golden/text";

// The tiny tokenizer, with another post-processor when one is given.
std::unique_ptr<Tokenizer> tiny_tokenizer(const Json* processor) {
  const std::string path = kGolden / "tokenizer/tiny2k_tokenizer.json";
  std::string text = read_text_file(path);
  if (processor != nullptr) {
    Json root = Json::parse(text, path);
    root.set("post_processor", *processor);
    text = root.dump();
  }
  return std::make_unique<Tokenizer>(tokenizer_data_from_json(text, path));
}

struct Golden {
  std::map<std::string, std::vector<Json>> cases;  // by kind
  std::unique_ptr<Tokenizer> bare;
  std::unique_ptr<Tokenizer> around;

  Golden() {
    std::ifstream file(kGolden / "rows/cases.jsonl");
    for (std::string line; std::getline(file, line);) {
      Json json = Json::parse(line, "cases.jsonl");
      cases[json.at("kind").as_string()].push_back(std::move(json));
    }
    bare = tiny_tokenizer(nullptr);
    around = tiny_tokenizer(&cases.at("around").at(0).at("post_processor"));
  }
  const Tokenizer& of(const Json& line) const {
    return line.at("around").as_bool() ? *around : *bare;
  }
};

template <typename Number>
std::vector<Number> numbers(const Json& list) {
  std::vector<Number> out;
  for (const Json& item : list.as_array()) out.push_back(static_cast<Number>(item.as_int()));
  return out;
}

Side side_of(const Json& line) {
  return line.at("side").as_string() == "left" ? Side::left : Side::right;
}

Truncation truncation_of(const Json& line) {
  const std::string& name = line.at("truncation").as_string();
  const auto pair = name == "only_first"    ? PairTruncation::only_first
                    : name == "only_second" ? PairTruncation::only_second
                                            : PairTruncation::longest_first;
  return {static_cast<std::size_t>(line.at("max_length").as_int()), side_of(line), pair};
}

TokenRow row_of(const std::vector<TokenId>& ids) {
  return {ids, std::vector<std::int32_t>(ids.size(), 0)};
}

}  // namespace

TEST_CASE("rows are cut and put together as transformers does") {
  const Golden golden;
  int refused = 0;
  for (const Json& line : golden.cases.at("row")) {
    CAPTURE(line.dump());
    std::optional<std::string> second;
    if (!line.at("second").is_null()) second = line.at("second").as_string();
    TokenRow row;
    const std::string code = toy::error_of([&] {
      row = encode_row(golden.of(line), line.at("first").as_string(), second,
                       {.add_special_tokens = true}, truncation_of(line));
    });
    if (line.find("error") != nullptr) {
      CHECK(code == "invalid_argument");
      ++refused;
      continue;
    }
    CHECK(code == "no error");
    CHECK(row.ids == numbers<TokenId>(line.at("ids")));
    CHECK(row.types == numbers<std::int32_t>(line.at("types")));
  }
  CHECK(golden.cases.at("row").size() == 200);
  CHECK(refused > 20);
}

TEST_CASE("batches are padded as transformers does") {
  const Golden golden;
  for (const Json& line : golden.cases.at("batch")) {
    CAPTURE(line.dump());
    std::vector<TokenRow> rows;
    for (const Json& pair : line.at("rows").as_array()) {
      rows.push_back(encode_row(golden.of(line), pair.as_array()[0].as_string(),
                                pair.as_array()[1].as_string(), {.add_special_tokens = true},
                                std::nullopt));
    }
    Padding padding;
    padding.id = *golden.bare->find("<|im_end|>");
    padding.side = side_of(line);
    padding.multiple_of = static_cast<std::size_t>(line.at("multiple_of").as_int());
    if (!line.at("length").is_null()) padding.length = 40;
    const PaddedRows padded = pad(rows, padding);
    CHECK(padded.rows == rows.size());
    CHECK(padded.length == static_cast<std::size_t>(line.at("padded_length").as_int()));
    CHECK(padded.ids == numbers<TokenId>(line.at("ids")));
    CHECK(padded.mask == numbers<std::int32_t>(line.at("mask")));
    CHECK(padded.types == numbers<std::int32_t>(line.at("types")));
  }
}

TEST_CASE("spaces are cleaned up as transformers does, and only when asked for") {
  const Golden golden;
  for (const Json& line : golden.cases.at("clean")) {
    const std::string& text = line.at("text").as_string();
    CAPTURE(text);
    CHECK(clean_up_spaces(text) == line.at("cleaned").as_string());
    const Ids ids = golden.bare->encode(text);
    CHECK(golden.bare->decode(ids, DecodeOptions{}) == text);
    CHECK(golden.bare->decode(ids, {.clean_up_spaces = true}) == line.at("cleaned").as_string());
  }
}

TEST_CASE("without special tokens a pair is one text behind the other") {
  const Golden golden;
  const TokenRow row = encode_row(*golden.around, "a", "b", {}, std::nullopt);
  CHECK(row.ids == toy::joined({golden.bare->encode("a"), golden.bare->encode("b")}));
  CHECK(row.types == std::vector<std::int32_t>{0, 1});
  // An empty second text is one.
  CHECK(
      encode_row(*golden.around, "a", "", {.add_special_tokens = true}, std::nullopt).ids.size() ==
      4);
}

TEST_CASE("a length that the ids around alone exceed is refused") {
  const Golden golden;
  const auto error = [&](std::size_t length) {
    return toy::error_of([&] {
      encode_row(*golden.around, "a", "b", {.add_special_tokens = true},
                 Truncation{.max_length = length});
    });
  };
  CHECK(error(2) == "invalid_argument");
  CHECK(error(3) == "no error");
}

TEST_CASE("padding that cannot be is refused") {
  const std::vector<TokenRow> rows = {row_of({1, 2, 3}), row_of({4})};
  const auto refused = [&](const Padding& padding) {
    std::string message;
    CHECK(toy::error_of([&] { pad(rows, padding); }, &message) == "invalid_argument");
    return message;
  };
  CHECK(refused({.length = 2}).find("row 0 has 3 ids") == 0);
  refused({.multiple_of = 0});
  refused({.multiple_of = SIZE_MAX});
  refused({.length = SIZE_MAX});
  refused({.length = kMaxPaddedIds});
  const PaddedRows none = pad({}, {});
  CHECK(none.rows == 0);
  CHECK(none.ids.empty());
  CHECK(pad(rows, {.id = 9, .type = 5, .side = Side::left}).types ==
        std::vector<std::int32_t>{0, 0, 0, 5, 5, 0});
}

TEST_CASE("length buckets: the smallest that fits, batches of a size, the order restored") {
  const std::vector<std::size_t> lengths = {5, 1, 9, 4, 0, 8, 4};
  const auto batches = bucket_by_length(lengths, {8, 4, 16, 4}, 2);
  REQUIRE(batches.size() == 4);
  CHECK(batches[0].length == 4);
  CHECK(batches[0].places == std::vector<std::size_t>{1, 3});
  CHECK(batches[1].places == std::vector<std::size_t>{4, 6});
  CHECK(batches[2].length == 8);
  CHECK(batches[2].places == std::vector<std::size_t>{0, 5});
  CHECK(batches[3].length == 16);
  std::vector<std::vector<std::string>> results;
  for (const LengthBatch& batch : batches) {
    results.emplace_back();
    for (const std::size_t place : batch.places) results.back().push_back(std::to_string(place));
  }
  CHECK(in_input_order<std::string>(batches, results) ==
        std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6"});
  CHECK(bucket_by_length({}, {4}, 1).empty());
  std::string message;
  CHECK(toy::error_of(
            [&] {
              bucket_by_length(lengths, {4, 8}, 2);
            },
            &message) == "invalid_argument");
  CHECK(message.find("input 2 has the length 9, the longest bucket 8") == 0);
  CHECK(toy::error_of([&] { bucket_by_length(lengths, {}, 2); }) == "invalid_argument");
  CHECK(toy::error_of([&] { bucket_by_length(lengths, {0, 16}, 2); }) == "invalid_argument");
  CHECK(toy::error_of([&] { bucket_by_length(lengths, {16}, 0); }) == "invalid_argument");
}

TEST_CASE("cut rows never exceed their room, and keep one end of each sequence") {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    Ids first(random() % 12);
    Ids second(random() % 12);
    for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<TokenId>(i);
    for (std::size_t i = 0; i < second.size(); ++i) second[i] = static_cast<TokenId>(100 + i);
    const Ids old_first = first;
    const Ids old_second = second;
    const std::size_t room = random() % 20;
    const Side side = random() % 2 == 0 ? Side::left : Side::right;
    truncate_pair(first, &second, room, {.side = side});
    REQUIRE(first.size() + second.size() == std::min(room, old_first.size() + old_second.size()));
    const auto kept = [&](const Ids& now, const Ids& old) {
      const auto skipped =
          static_cast<std::ptrdiff_t>(side == Side::left ? old.size() - now.size() : 0);
      return std::equal(now.begin(), now.end(), old.begin() + skipped);
    };
    REQUIRE(kept(first, old_first));
    REQUIRE(kept(second, old_second));
  }
}
