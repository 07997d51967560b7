#include "text/unicode_classes.h"

#include <doctest/doctest.h>

#include <vector>

#include "base/json.h"

using namespace linnet;

TEST_CASE("every code point has the class that the reference's engine sees") {
  const Json file = Json::parse_file(std::string(LINNET_SOURCE_DIR) +
                                     "/tests/golden/text/tokenizer/unicode_classes.json");
  std::vector<CharClass> want(0x110000, CharClass::other);
  const auto mark = [&](const char* key, CharClass value) {
    for (const Json& range : file.at(key).as_array()) {
      const std::int64_t last = range.as_array().at(1).as_int();
      for (std::int64_t point = range.as_array().at(0).as_int(); point <= last; ++point) {
        want[static_cast<std::size_t>(point)] = value;
      }
    }
  };
  mark("letters \\p{L}", CharClass::letter);
  mark("numbers \\p{N}", CharClass::number);
  mark("space \\s", CharClass::space);
  const CharClasses& classes = CharClasses::get();
  int differ = 0;
  for (char32_t point = 0; point < want.size(); ++point) differ += classes.of(point) != want[point];
  CHECK(differ == 0);
  CHECK(classes.of(0x110000) == CharClass::other);

  int more_digits = 0;
  for (char32_t point = 0; point < want.size(); ++point) {
    more_digits += classes.is_single_digit(point) && want[point] != CharClass::number;
  }
  CHECK(more_digits == static_cast<int>(file.at("only Digits, not \\p{N}").size()));
}

TEST_CASE("word characters") {
  for (const char32_t point :
       {U'a', U'Z', U'7', U'_', U'\u00E9', U'\u0301', U'\u200D', U'\u2160'}) {
    CHECK(CharClasses::is_word(point));
  }
  for (const char32_t point : {U' ', U'-', U'<', U'.', U'\u00B2', U'\u2028'}) {
    CHECK_FALSE(CharClasses::is_word(point));
  }
}
