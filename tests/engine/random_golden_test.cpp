// The Threefry stream against values made by other implementations.
#include <doctest/doctest.h>

#include <charconv>

#include "base/json.h"
#include "base/random.h"

namespace linnet {
namespace {

const Json& golden() {
  static const Json json = Json::parse_file(LINNET_SOURCE_DIR "/tests/golden/sampler_golden.json");
  return json;
}

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t seed = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seed);
  REQUIRE(parsed.ptr == text.data() + text.size());
  return seed;
}

RandomKey key_of(const Json& pair) {
  REQUIRE(pair.size() == 2);
  return {static_cast<std::uint32_t>(pair.as_array()[0].as_int()),
          static_cast<std::uint32_t>(pair.as_array()[1].as_int())};
}

void check_split(std::string_view field, std::size_t parts) {
  const Json& wanted = golden().at("nx_documented").at(field);
  const auto keys = split(RandomKey::from_seed(1701), parts);
  REQUIRE(keys.size() == wanted.size());
  for (std::size_t i = 0; i < parts; ++i) CHECK(keys[i] == key_of(wanted.as_array()[i]));
}

TEST_CASE("keys and splits as documented") {
  for (const auto& [seed, key] : golden().at("nx_documented").at("key").as_object()) {
    CHECK(RandomKey::from_seed(seed_of(seed)) == key_of(key));
  }
  check_split("split_1701_parts2", 2);
  check_split("split_1701_parts4", 4);
}

TEST_CASE("each step gives the golden uniform and carry") {
  for (const Json& test_case : golden().at("cases").as_array()) {
    CAPTURE(test_case.at("seed").as_string());
    RandomStream stream(seed_of(test_case.at("seed").as_string()));
    const auto& uniforms = test_case.at("uniform").as_array();
    const auto& carries = test_case.at("carry_key_after_each_step").as_array();
    REQUIRE(uniforms.size() == 8);
    REQUIRE(carries.size() == 8);
    for (std::size_t step = 0; step < uniforms.size(); ++step) {
      CHECK(stream.next_uniform() == static_cast<float>(uniforms[step].as_double()));
      CHECK(stream.carry() == key_of(carries[step]));
    }
  }
}

}  // namespace
}  // namespace linnet
