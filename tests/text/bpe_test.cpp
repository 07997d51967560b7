#include "text/bpe.h"

#include <doctest/doctest.h>

#include <random>

#include "text/toy_tokenizer.h"
#include "time_limit.h"

using namespace linnet;
using toy::ToyVocabulary;

namespace {

std::vector<TokenId> encode(const TokenizerData& data, std::string_view piece) {
  std::vector<TokenId> ids;
  if (piece.empty()) return ids;
  BpeScratch scratch;
  IdSink sink(ids, 0);
  const char* const end = piece.data() + piece.size();
  std::size_t id_end = 0;
  Bpe(data).encode({piece.data(), {&end, 1}, end}, scratch, sink, {&id_end, 1});
  CHECK(id_end == sink.size());
  sink.finish();
  return ids;
}

// The definition, word for word: the pair of lowest rank, leftmost first, until none is left.
std::vector<TokenId> encode_plainly(const TokenizerData& data, std::string_view piece) {
  std::vector<TokenId> ids = toy::bytes(piece);
  for (;;) {
    std::size_t best = data.merges.size();
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      for (std::size_t rank = 0; rank < best; ++rank) {
        if (data.merges[rank].left == ids[i] && data.merges[rank].right == ids[i + 1]) {
          best = rank;
          place = i;
        }
      }
    }
    if (best == data.merges.size()) return ids;
    ids[place] = data.merges[best].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

}  // namespace

TEST_CASE("merges go by rank, leftmost first") {
  ToyVocabulary toy;
  const TokenId bc = toy.merge("b", "c");
  const TokenId ab = toy.merge("a", "b");
  const TokenId aa = toy.merge("a", "a");
  CHECK(encode(toy.data, "abc") == std::vector<TokenId>{'a', bc});
  CHECK(encode(toy.data, "ab") == std::vector<TokenId>{ab});
  CHECK(encode(toy.data, "aaa") == std::vector<TokenId>{aa, 'a'});
  CHECK(encode(toy.data, "").empty());
}

TEST_CASE("random merge lists give what the definition gives, short and long") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    ToyVocabulary toy;
    std::vector<std::string> made = {"a", "b", "c"};
    for (int i = 0; i < 12; ++i) {
      const std::string left = made[random() % made.size()];
      const std::string right = made[random() % made.size()];
      const TokenId left_id = toy.find(left);
      bool known = false;
      for (const Merge& merge : toy.data.merges) {
        known = known || (merge.left == left_id && merge.right == toy.find(right));
      }
      if (known || left.size() + right.size() > 12) continue;
      toy.merge(left, right);
      made.push_back(left + right);
    }
    std::string piece(1 + random() % 80, 'a');
    for (char& byte : piece) byte = static_cast<char>('a' + random() % 3);
    REQUIRE(encode(toy.data, piece) == encode_plainly(toy.data, piece));
  }
}

TEST_CASE("cutting at safe places changes nothing, whatever bytes the merges join") {
  // The second half of a character with the first of the next one, too.
  const std::string alphabet = "a \xC3\xA9\xC3\xA8\xE6\x97\xA5\xE6\x9C\xAC\xF0\x9F\x98\x80";
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    ToyVocabulary toy;
    std::vector<std::string> made;
    for (const char byte : alphabet) made.emplace_back(1, byte);
    for (int i = 0; i < 30; ++i) {
      const std::string left = made[random() % made.size()];
      const std::string right = made[random() % made.size()];
      if (toy.find(left + right) >= 0 || left.size() + right.size() > 9) continue;
      toy.merge(left, right);
      made.push_back(left + right);
    }
    std::string piece;
    while (piece.size() < 60) {
      for (const std::string_view character :
           {"a", " ", "\xC3\xA9", "\xC3\xA8", "\xE6\x97\xA5", "\xE6\x9C\xAC", "\xF0\x9F\x98\x80"}) {
        if (random() % 3 == 0) piece += character;
      }
    }
    REQUIRE(encode(toy.data, piece) == encode_plainly(toy.data, piece));
  }
}

TEST_CASE("a piece gives the same ids when it comes again") {
  ToyVocabulary toy;
  toy.merge("a", "b");
  const TokenId cd = toy.merge("c", "d");
  const TokenId whole = toy.add("\xC3\xA9\xC3\xA8");  // no merges lead to it
  toy.data.ignore_merges = true;
  toy.data.split = SplitRule::gpt2;
  const Tokenizer tokenizer(toy.data);
  // As a piece it is taken whole; as a part of a longer piece it is not.
  const std::string text = "\xC3\xA9\xC3\xA8 cd\xC3\xA9\xC3\xA8";
  const auto want = toy::joined({{whole, ' ', cd}, toy::bytes("\xC3\xA9\xC3\xA8")});
  for (int round = 0; round < 3; ++round) CHECK(tokenizer.encode(text) == want);
  std::mt19937 random(2);
  std::vector<std::string> words;
  std::vector<std::vector<TokenId>> first;
  for (int i = 0; i < 3000; ++i) {
    std::string word(1 + random() % 20, 'a');
    for (char& byte : word) byte = static_cast<char>('a' + random() % 4);
    words.push_back(word);
    first.push_back(Tokenizer(toy.data).encode(i % 97 == 0 ? word : ""));
  }
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto ids = tokenizer.encode(words[i]);
      if (i % 97 == 0) REQUIRE(ids == first[i]);
      REQUIRE(tokenizer.decode(ids, false) == words[i]);
    }
  }
}

TEST_CASE("a merge that makes other bytes than its sides is refused") {
  ToyVocabulary toy;
  toy.merge("a", "b");
  toy.data.merges.push_back({'c', 'd', 'e'});
  std::string message;
  CHECK(toy::error_of([&] { Bpe bpe(toy.data); }, &message) == "corrupt_file");
  CHECK(message == "toy: merge 1 of the ids 99 and 100 makes id 101, which has other bytes");
}

TEST_CASE("a whole piece in the vocabulary is taken at once when merges are ignored") {
  ToyVocabulary toy;
  const std::string viet = " Vi\xE1\xBB\x87t";
  const TokenId whole = toy.add(viet);  // no merges lead to it
  const TokenId vi = toy.merge("V", "i");
  toy.data.ignore_merges = true;
  CHECK(Tokenizer(toy.data).encode(viet) == std::vector<TokenId>{whole});
  toy.data.ignore_merges = false;
  CHECK(Tokenizer(toy.data).encode(viet) ==
        toy::joined({{' ', vi}, toy::bytes("\xE1\xBB\x87"), {'t'}}));
}

TEST_CASE("bytes without an entry are lost, and their neighbours still merge") {
  ToyVocabulary toy;
  const TokenId ab = toy.merge("a", "b");
  toy.data.vocab['x'].clear();
  CHECK(encode(toy.data, "axb") == std::vector<TokenId>{ab});
  CHECK(encode(toy.data, "x").empty());
  const Bpe bpe(toy.data);
  CHECK(bpe.loses("axb"));
  CHECK_FALSE(bpe.loses("ab"));
}

TEST_CASE("the time of a long piece is not quadratic") {
  ToyVocabulary toy;
  for (int i = 0; i < 6; ++i) toy.merge(std::string(1u << i, 'a'), std::string(1u << i, 'a'));
  for (int i = 0; i < 6; ++i) toy.merge(std::string(1u << i, ' '), std::string(1u << i, ' '));
  const Tokenizer tokenizer(toy.data);
  const linnet::testing::ProcessorWatch watch;
  for (const char unit : {'a', ' ', '!'}) {
    const std::string text(200'000, unit);
    const auto ids = tokenizer.encode(text);
    CHECK(ids.size() == (unit == '!' ? 200'000 : 200'000 / 64));
    CHECK(tokenizer.decode(ids, false) == text);
  }
  // Looking for each merge along the whole piece would take 10^10 steps and more.
  CHECK(watch.seconds() < linnet::testing::time_limit(10.0));
}

TEST_CASE("two ids of the same bytes are refused") {
  ToyVocabulary toy;
  toy.add("ab");
  toy.add("ab");
  std::string message;
  CHECK(toy::error_of([&] { Bpe bpe(toy.data); }, &message) == "corrupt_file");
  CHECK(message == "toy: ids 256 and 257 are both the token 'ab'");
}
