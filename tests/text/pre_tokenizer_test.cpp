#include "text/pre_tokenizer.h"

#include <doctest/doctest.h>

#include <random>

#include "text/random_text.h"
#include "time_limit.h"

using namespace linnet;

namespace {

// The pieces, separated by a vertical bar.
std::string pieces(SplitRule rule, std::string_view text) {
  std::string out;
  for (PieceCursor cursor(rule, text); !cursor.done();) {
    if (!out.empty()) out += "|";
    out += cursor.next();
  }
  return out;
}

}  // namespace

TEST_CASE("the rule of Llama 3") {
  const auto split = [](std::string_view text) { return pieces(SplitRule::llama3, text); };
  CHECK(split("Hello world") == "Hello| world");
  CHECK(split("I'LL don'T 'sup") == "I|'LL| don|'T| '|sup");
  CHECK(split("it\'\xC5\xBF ok") == "it|\'\xC5\xBF| ok");  // U+017F is an s without case
  CHECK(split("12345 6") == "123|45| |6");
  CHECK(split("a  b") == "a| | b");
  CHECK(split("a \n\n  b") == "a| \n\n| | b");
  CHECK(split("a\n b") == "a|\n| b");
  CHECK(split("x!!\r\ny") == "x|!!\r\n|y");
  CHECK(split("\tif (a)") == "\tif| (|a|)");
  CHECK(split("end   ") == "end|   ");
  CHECK(split("\xC2\xA0x \xC2\xA0 9") == "\xC2\xA0x| \xC2\xA0| |9");
  CHECK(split("\xD9\xA3\xD9\xA4\xD9\xA5\xD9\xA6") == "\xD9\xA3\xD9\xA4\xD9\xA5|\xD9\xA6");
  CHECK(split("") == "");
}

TEST_CASE("the rule of Qwen 2 cuts single digits") {
  CHECK(pieces(SplitRule::qwen2, "a123 4'S") == "a|1|2|3| |4|'S");
}

TEST_CASE("the rule of GPT-2") {
  const auto split = [](std::string_view text) { return pieces(SplitRule::gpt2, text); };
  CHECK(split("Hello  world 12345!") == "Hello| | world| 12345|!");
  CHECK(split("I'll I'LL") == "I|'ll| I|'|LL");
  CHECK(split("a\n\nb") == "a|\n|\n|b");
  CHECK(split("x!!\n") == "x|!!|\n");
  CHECK(split("\tif") == "\t|if");
}

TEST_CASE("the rule of SmolLM looks at nothing behind a digit") {
  const auto split = [](std::string_view text) { return pieces(SplitRule::smollm, text); };
  CHECK(split("a 12") == "a| |1|2");
  CHECK(split("a  1") == "a|  |1");  // not "a| | |1": the part ends before the digit
  CHECK(split("'1s") == "'|1|s");
  // U+11DE0 is a digit here, though not \p{N} to the expression.
  CHECK(split("!\xF0\x91\xB7\xA0!") == "!|\xF0\x91\xB7\xA0|!");
  CHECK(pieces(SplitRule::gpt2, "!\xF0\x91\xB7\xA0!") == "!\xF0\x91\xB7\xA0!");
}

TEST_CASE("pieces are never empty and join to the text") {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = toy::random_text(random, random() % 40);
    for (const auto rule :
         {SplitRule::gpt2, SplitRule::llama3, SplitRule::smollm, SplitRule::qwen2}) {
      std::string joined;
      for (PieceCursor cursor(rule, text); !cursor.done();) {
        const std::string_view piece = cursor.next();
        REQUIRE_FALSE(piece.empty());
        REQUIRE_FALSE(find_invalid_utf8(piece));
        joined += piece;
      }
      REQUIRE(joined == text);
    }
  }
}

TEST_CASE("long runs take linear time under every rule") {
  const linnet::testing::ProcessorWatch watch;
  for (const std::string unit : {" ", "a", "\n", " \n", "'", "!", "7", "\xC2\xA0", " '"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    for (const auto rule :
         {SplitRule::gpt2, SplitRule::llama3, SplitRule::smollm, SplitRule::qwen2}) {
      PieceCursor cursor(rule, text);
      while (!cursor.done()) cursor.next();
    }
  }
  // 36 MB; a quadratic walk of one of them would take minutes.
  CHECK(watch.seconds() < linnet::testing::time_limit(20.0));
}
