#include "engine/task_text.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "engine/golden_head.h"
#include "text/normalize.h"
#include "text/toy_tokenizer.h"

using namespace linnet;
using namespace linnet::testing;

TEST_CASE("the ids around a text stay when it is cut") {
  const TaskEncoder encoder(golden_model("base"), byte_tokenizer({1, 2}, {3}), false);
  TaskText text = encoder.encode("abcd");
  CHECK((text.before == 2 && text.after == 1 && text.text_tokens() == 4));
  CHECK(text.window_ids({1, 3}) == std::vector<TokenId>{1, 2, 'b' - 8, 'c' - 8, 3});
  text.keep(4);
  CHECK(text.text_tokens() == 4);
  text.keep(1);
  CHECK(text.ids == std::vector<TokenId>{1, 2, 'a' - 8, 3});
  CHECK(text.spans.size() == 4);
  text.keep(0);
  CHECK(text.ids == std::vector<TokenId>{1, 2, 3});
  const TaskText empty = encoder.encode("");
  CHECK((empty.ids.size() == 3 && empty.text_tokens() == 0));
}

TEST_CASE("where the tokenizer normalizes, ranges count in the normalized text") {
  const std::string apart = "e\xCC\x81 x";
  for (const bool normalizes : {false, true}) {
    toy::ToyVocabulary toy;
    toy.data.normalize_nfc = normalizes;
    LoadOptions load;
    const auto model = golden_model("base");
    const auto tokenizer = std::make_shared<const Tokenizer>(toy.data);
    const Encoding encoding = tokenizer->encode_with_offsets(apart);
    // Its ids are bytes, beyond the golden vocabulary: the refusal is part of the contract.
    CHECK_THROWS_AS(TaskEncoder(model, tokenizer, false).encode(apart), Error);
    const TaskText plain = TaskEncoder(model, byte_tokenizer(), false).encode(apart);
    CHECK(plain.text == apart);
    CHECK(encoding.spans.back().end == (normalizes ? to_nfc(apart) : apart).size());
  }
}

TEST_CASE("white space at the ends is left out of a range") {
  const std::string text = " \xC2\xA0 a b\t\n  ";
  const TokenSpan inner = without_space(text, {0, text.size()});
  CHECK(text.substr(inner.begin, inner.end - inner.begin) == "a b");
  CHECK(without_space(text, {0, 4}) == TokenSpan{0, 4});  // nothing else: unchanged
  CHECK(without_space(text, {4, 4}) == TokenSpan{4, 4});
}

TEST_CASE("characters are counted in any order of asking") {
  const std::string text = "a\xC3\xA9\xE5\x8C\x97\xF0\x9F\x90\xA6z";
  CharacterCount count(text);
  for (const auto& [byte, characters] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 0}, {1, 1}, {3, 2}, {6, 3}, {10, 4}, {11, 5}, {3, 2}, {11, 5}, {0, 0}}) {
    CHECK(count.before(byte) == characters);
  }
}

TEST_CASE("a limit of tokens is at most the context") {
  const Model& model = *golden_model("base");
  CHECK(checked_max_tokens(model, 0) == 128);
  CHECK(checked_max_tokens(model, 500) == 128);
  CHECK(checked_max_tokens(model, 5) == 5);
  CHECK_THROWS_AS(checked_max_tokens(model, -1), Error);
  CHECK(text_room(5, 5) == 0);
  CHECK_THROWS_AS(text_room(5, 6), Error);
}
