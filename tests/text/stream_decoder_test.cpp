#include "text/stream_decoder.h"

#include <doctest/doctest.h>

#include <random>

#include "base/utf8.h"
#include "text/toy_tokenizer.h"
#include "time_limit.h"

using namespace linnet;
using toy::ToyVocabulary;

namespace {

// The deltas with a bar behind each, then the flush.
std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                     bool skip_special = true) {
  StreamDecoder decoder(tokenizer, skip_special);
  std::string out;
  for (const TokenId id : ids) out += decoder.push(id) + "|";
  return out + decoder.flush();
}

std::string worded(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  WordwiseDecoder decoder(tokenizer);
  std::string out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto chunk = decoder.push(ids[i], i + 1 == ids.size());
    if (chunk) out += *chunk + "|";
  }
  return out;
}

}  // namespace

TEST_CASE("nothing is given out until a character is whole") {
  ToyVocabulary toy;
  const TokenId cat = toy.add("\xF0\x9F\x98");
  const TokenId day = toy.add("\xE6\x97");
  const Tokenizer tokenizer(toy.data);
  CHECK(streamed(tokenizer, {cat, 0xB8}) == "|\xF0\x9F\x98\xB8|");
  CHECK(streamed(tokenizer, {day, 0xA5, 'x'}) == "|\xE6\x97\xA5|x|");
}

TEST_CASE("held bytes are neither lost nor held for ever") {
  ToyVocabulary toy;
  const TokenId day = toy.add("\xE6\x97");
  const TokenId ok = toy.add(" ok");
  const Tokenizer tokenizer(toy.data);
  const std::string bad(kReplacementText);
  CHECK(streamed(tokenizer, {day, ok}) == "|" + bad + " ok|");
  CHECK(streamed(tokenizer, {day}) == "|" + bad);
  CHECK(streamed(tokenizer, {0xFF}) == bad + "|");
  CHECK(streamed(tokenizer, {0xF0, 0x9F, 0xF0, 0x9F, 0x98, 0x80}) ==
        "||" + bad + "|||\xF0\x9F\x98\x80|");
  // A surrogate: its first two bytes wait for the third, as in the reference's decoder.
  CHECK(streamed(tokenizer, {0xED, 0xA0, 0x80}) == "||" + bad + bad + bad + "|");
  CHECK(streamed(tokenizer, {0xED, 0xA0}) == "||" + bad + bad);
}

TEST_CASE("special tokens are skipped or kept; a character may go on behind a skipped one") {
  ToyVocabulary toy;
  const TokenId end = toy.special("<end>");
  const TokenId call = toy.special("<tool_call>", false);
  const Tokenizer tokenizer(toy.data);
  CHECK(streamed(tokenizer, {'a', end, call}, true) == "a||<tool_call>|");
  CHECK(streamed(tokenizer, {'a', end, call}, false) == "a|<end>|<tool_call>|");
  CHECK(streamed(tokenizer, {0xC3, end, 0xA9}, true) == "||\xC3\xA9|");
  CHECK(toy::error_of([&] { streamed(tokenizer, {9999}); }) == "invalid_argument");
}

TEST_CASE("the deltas join to the decoded text, for any bytes") {
  const Tokenizer tokenizer(ToyVocabulary().data);
  std::mt19937 random(21);
  for (int round = 0; round < 3000; ++round) {
    std::vector<TokenId> ids(random() % 20);
    for (TokenId& id : ids)
      id = static_cast<TokenId>(random() % 2 ? random() % 256 : 0x80 + random() % 0x75);
    StreamDecoder decoder(tokenizer, true);
    std::string joined;
    for (const TokenId id : ids) {
      const std::string delta = decoder.push(id);
      REQUIRE_FALSE(find_invalid_utf8(delta));
      joined += delta;
    }
    joined += decoder.flush();
    REQUIRE(joined == tokenizer.decode(ids, true));
    REQUIRE(decoder.flush().empty());
    WordwiseDecoder words(tokenizer);
    std::string chunks;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      chunks += words.push(ids[i], i + 1 == ids.size()).value_or("");
    }
    REQUIRE(chunks == joined);
  }
}

TEST_CASE("word by word: at newlines, ideographs and the last space") {
  ToyVocabulary toy;
  const TokenId end = toy.special("<end>");
  const TokenId ok = toy.add(" ok");
  const TokenId two = toy.add(" b c");
  const TokenId nihao = toy.add("\xE4\xBD\xA0\xE5\xA5\xBD");
  const TokenId kana = toy.add("\xE3\x81\x82");
  const Tokenizer tokenizer(toy.data);
  CHECK(worded(tokenizer, {'a', ok, ok, end}) == "a| ok| ok|");
  CHECK(worded(tokenizer, {'a', two, 'd', end}) == "a b| cd|");
  CHECK(worded(tokenizer, {'a', '\n', 'b', end}) == "a\n|b|");
  CHECK(worded(tokenizer, {'a', '\n', end}) == "a\n||");  // an empty chunk at the end
  CHECK(worded(tokenizer, {nihao, kana, kana, ok, end}) ==
        "\xE4\xBD\xA0\xE5\xA5\xBD|\xE3\x81\x82\xE3\x81\x82| ok|");
  CHECK(worded(tokenizer, {0xE6, 0x97, ' ', end}) == std::string(kReplacementText) + "| |");
}

TEST_CASE("word by word without any space takes linear time") {
  const Tokenizer tokenizer(ToyVocabulary().data);
  WordwiseDecoder decoder(tokenizer);
  const linnet::testing::ProcessorWatch watch;
  for (int i = 0; i < 1'000'000; ++i) REQUIRE_FALSE(decoder.push('a', false));
  CHECK(decoder.push('a', true)->size() == 1'000'001);
  CHECK(watch.seconds() < linnet::testing::time_limit(20.0));
}
