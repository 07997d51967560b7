#include "engine/merge_tags.h"

#include <doctest/doctest.h>

using namespace linnet;

namespace {

const std::vector<std::string> kLabels = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"};
const std::vector<std::string> kIgnored = {"O"};

// Tokens as the pieces of a text, with the label (an index) and the probability of each.
struct Piece {
  std::string text;
  std::size_t label;
  float score = 0.75f;
};

struct Tagged {
  TaskText text;
  std::vector<float> scores;

  explicit Tagged(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      const std::size_t begin = text.text.size();
      text.text += piece.text;
      text.ids.push_back(0);
      text.spans.push_back({begin, text.text.size()});
      for (std::size_t label = 0; label < kLabels.size(); ++label)
        scores.push_back(label == piece.label ? piece.score : (1 - piece.score) / 4);
    }
  }
  std::vector<Entity> merged(Aggregation aggregation,
                             const std::vector<std::string>& ignored = kIgnored) const {
    return merge_tags(text, {scores, kLabels}, aggregation, ignored);
  }
};

// "PER:Ada Lovelace|LOC:London"
std::string summary(const std::vector<Entity>& entities) {
  std::string text;
  for (const Entity& entity : entities)
    text += (text.empty() ? "" : "|") + entity.label + ":" + entity.phrase;
  return text;
}

}  // namespace

TEST_CASE("labels of the BIO scheme become entities") {
  const Tagged tagged({{"Ada", 1}, {" Love", 2}, {"lace", 2, 0.5f}, {" in", 0}, {" London", 3}});
  CHECK(summary(tagged.merged(Aggregation::same)) == "PER:Ada Lovelace|LOC:London");
  CHECK(summary(tagged.merged(Aggregation::none)) ==
        "B-PER:Ada|I-PER:Love|I-PER:lace|B-LOC:London");
  const auto entities = tagged.merged(Aggregation::same);
  CHECK(entities[0].range == TextRange{0, 12, 0, 12});
  CHECK(entities[1].range == TextRange{16, 22, 16, 22});
  CHECK(entities[0].score == doctest::Approx((0.75 + 0.75 + 0.5) / 3));
}

TEST_CASE("where an entity begins") {
  const auto found = [](const std::vector<Piece>& pieces) {
    return summary(Tagged(pieces).merged(Aggregation::same));
  };
  CHECK(found({{"a", 1}, {" b", 1}}) == "PER:a|PER:b");  // B begins
  CHECK(found({{"a", 2}, {" b", 2}}) == "PER:a b");      // IOB: I alone begins one
  CHECK(found({{"a", 2}, {" b", 1}, {" c", 2}}) == "PER:a|PER:b c");
  CHECK(found({{"a", 1}, {" b", 4}}) == "PER:a|LOC:b");             // another name
  CHECK(found({{"a", 1}, {" b", 0}, {" c", 2}}) == "PER:a|PER:c");  // something between
  CHECK(found({{"a", 0}}).empty());
  CHECK(found({}).empty());
}

TEST_CASE("labels are ignored with or without their prefix") {
  const Tagged tagged({{"a", 1}, {" b", 4}, {" c", 0}});
  CHECK(summary(tagged.merged(Aggregation::same, {})) == "PER:a|LOC:b|O:c");
  CHECK(summary(tagged.merged(Aggregation::same, {"PER", "O"})) == "LOC:b");
  CHECK(summary(tagged.merged(Aggregation::none, {"I-LOC"})) == "B-PER:a|O:c");
}

TEST_CASE("words take their label from the first token, the mean or the largest") {
  // One word of three tokens: PER, then LOC twice, of which one is surer than all.
  const Tagged tagged({{"Par", 1, 0.6f}, {"i", 3, 0.5f}, {"s", 3, 0.9f}, {" is", 0}});
  CHECK(summary(tagged.merged(Aggregation::same)) == "PER:Par|LOC:i|LOC:s");
  const auto first = tagged.merged(Aggregation::word_first);
  const auto mean = tagged.merged(Aggregation::word_average);
  const auto most = tagged.merged(Aggregation::word_max);
  CHECK(summary(first) == "PER:Paris");
  CHECK(first[0].score == 0.6f);
  CHECK(summary(mean) == "LOC:Paris");
  CHECK(mean[0].score == doctest::Approx((0.1 + 0.5 + 0.9) / 3));
  CHECK(summary(most) == "LOC:Paris");
  CHECK(most[0].score == 0.9f);
  // Words merge like tokens.
  const Tagged two({{"New", 3}, {" Yo", 4}, {"rk", 0}, {" is", 0}});
  CHECK(summary(two.merged(Aggregation::word_first)) == "LOC:New York");
}

TEST_CASE("white space on its own is no word, and parts none") {
  const Tagged tagged({{" ", 3}, {"New", 3}, {" ", 0}, {"York", 4}, {"\n", 3}});
  CHECK(summary(tagged.merged(Aggregation::word_first)) == "LOC:New York");
  CHECK(tagged.merged(Aggregation::same).size() == 4);
}

TEST_CASE("a word begins at spaces and symbols") {
  const auto starts = [](const std::vector<std::string>& pieces) {
    std::vector<TokenSpan> spans;
    std::string text, found;
    for (const std::string& piece : pieces) {
      spans.push_back({text.size(), text.size() + piece.size()});
      text += piece;
    }
    for (const bool start : find_word_starts(text, spans)) found += start ? '1' : '0';
    return found;
  };
  CHECK(starts({"Hel", "lo", " wor", "ld"}) == "1010");
  CHECK(starts({"(", "Par", "is", ")", "."}) == "11011");
  CHECK(starts({"don", "'t"}) == "11");
  CHECK(starts({" ", "a", "b"}) == "110");
  CHECK(starts({"snake", "_case", "9"}) == "100");
  CHECK(starts({"e", "\xCC\x81t"}) == "10");  // a mark is part of its word
  CHECK(starts({"\xC3\xA9t", "\xC3\xA9"}) == "10");
  CHECK(starts({"\xE5\x8C\x97", "\xE4\xBA\xAC"}) == "10");  // no spaces: one word
  CHECK(starts({"a", "\xE2\x80\x94", "b"}) == "111");       // a dash
  CHECK(starts({}) == "");
}

TEST_CASE("a token that begins within a character goes with the one before") {
  // A bird of four bytes in two tokens: both have the range of the whole character.
  const std::string bird = "\xF0\x9F\x90\xA6";
  const std::vector<TokenSpan> spans = {{0, 4}, {0, 4}, {4, 5}};
  CHECK(find_word_starts(bird + "a", spans) == std::vector<bool>{true, false, true});
}

TEST_CASE("ranges count bytes and characters, without white space at the ends") {
  const Tagged tagged({{"\xC3\xA9", 0}, {" \xE5\x8C\x97", 1}, {"\xE4\xBA\xAC\n", 2}, {"\n", 3}});
  const auto entities = tagged.merged(Aggregation::same);
  REQUIRE(entities.size() == 2);
  CHECK(entities[0].range == TextRange{3, 9, 2, 4});
  CHECK(entities[0].phrase == "\xE5\x8C\x97\xE4\xBA\xAC");
  CHECK(entities[1].range == TextRange{10, 11, 5, 6});  // nothing but white space stays
}

TEST_CASE("every entity's phrase is its range of the text, in every aggregation") {
  std::uint32_t state = 9;
  const auto next = [&](std::uint32_t bound) {
    return ((state = state * 1664525u + 1013904223u) >> 8) % bound;
  };
  const std::vector<std::string> words = {"a", " b", "\xC3\xA9", " ", "\xE5\x8C\x97",
                                          ".", "1",  "\n"};
  for (int round = 0; round < 300; ++round) {
    std::vector<Piece> pieces(next(12));
    for (Piece& piece : pieces)
      piece = {words[next(8)], next(5), 0.5f + 0.01f * static_cast<float>(next(50))};
    const Tagged tagged(pieces);
    for (const Aggregation aggregation :
         {Aggregation::none, Aggregation::same, Aggregation::word_first, Aggregation::word_average,
          Aggregation::word_max}) {
      std::size_t end = 0;
      for (const Entity& entity : tagged.merged(aggregation, {})) {
        const TextRange& range = entity.range;
        CHECK((range.begin >= end && range.begin < range.end));
        CHECK(entity.phrase == tagged.text.text.substr(range.begin, range.end - range.begin));
        CHECK((entity.score > 0 && entity.score <= 1));
        end = range.end;
      }
    }
  }
}
