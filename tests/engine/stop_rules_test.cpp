#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "engine/stop_rules.h"

namespace linnet {
namespace {

using Strings = std::vector<std::string>;

struct Outcome {
  std::string text;
  bool matched = false;
  bool operator==(const Outcome&) const = default;
};

bool ends_with_any(std::string_view text, const Strings& stops, std::size_t& longest) {
  longest = 0;
  for (const std::string& stop : stops) {
    if (text.ends_with(stop)) longest = std::max(longest, stop.size());
  }
  return longest > 0;
}

// The whole-text definition: the first end of any stop string, cut before the longest there.
Outcome by_definition(const std::string& text, const Strings& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t longest = 0;
    if (ends_with_any(std::string_view(text).substr(0, end), stops, longest)) {
      return {text.substr(0, end - longest), true};
    }
  }
  return {text, false};
}

// What must be shown of `text`: all but the longest suffix that begins a stop string.
std::string shown_by_definition(const std::string& text, const Strings& stops) {
  for (std::size_t keep = text.size(); keep > 0; --keep) {
    for (const std::string& stop : stops) {
      if (stop.size() > keep && stop.starts_with(text.substr(text.size() - keep))) {
        return text.substr(0, text.size() - keep);
      }
    }
  }
  return text;
}

Outcome run_pieces(const Strings& pieces, const Strings& stops) {
  StopStrings rules(stops);
  std::string shown, fed;
  for (const std::string& piece : pieces) {
    shown += rules.push(piece);
    fed += piece;
    if (!rules.matched()) CHECK(shown == shown_by_definition(fed, stops));
  }
  shown += rules.finish();
  return {shown, rules.matched()};
}

// Cuts `text` behind every byte whose bit is set.
Strings cut(const std::string& text, std::uint32_t bits) {
  Strings pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    pieces.back() += text[i];
    if ((bits >> i) & 1) pieces.emplace_back();
  }
  return pieces;
}

TEST_CASE("a stop string over several tokens") {
  CHECK(run_pieces({"ok", "\nUs", "er", ":", " x"}, {"\nUser:"}) == Outcome{"ok", true});
  StopStrings rules(Strings{"\nUser:"});
  CHECK(rules.push("ok") == "ok");
  CHECK(rules.push("\nUs") == "");
  CHECK(rules.push("able") == "\nUsable");
  CHECK_FALSE(rules.matched());
}

TEST_CASE("held text is released at the end, nothing after a match") {
  StopStrings rules(Strings{"<end>"});
  CHECK(rules.push("a<en") == "a");
  CHECK(rules.finish() == "<en");
  CHECK(rules.finish() == "");
  StopStrings matched(Strings{"<end>"});
  CHECK(matched.push("a<end>b") == "a");
  CHECK(matched.push("c") == "");
  CHECK(matched.finish() == "");
}

TEST_CASE("the first end wins, the longest of those that end together") {
  CHECK(run_pieces({"xabcd"}, {"abcd", "bc"}) == Outcome{"xa", true});
  CHECK(run_pieces({"xabc"}, {"c", "abc", "bc"}) == Outcome{"x", true});
  CHECK(run_pieces({"aaab"}, {"aab"}) == Outcome{"a", true});
}

TEST_CASE("every cut of small texts equals the whole-text definition") {
  const std::vector<Strings> stop_sets = {
      {"ab"}, {"aab"}, {"aba", "bb"}, {"abab", "ba"}, {"aaaa"}, {"b", "aab"}, {}};
  for (const Strings& stops : stop_sets) {
    for (std::uint32_t letters = 0; letters < 128; ++letters) {
      std::string text;
      for (int i = 0; i < 7; ++i) text += (letters >> i) & 1 ? 'a' : 'b';
      const Outcome wanted = by_definition(text, stops);
      for (std::uint32_t bits = 0; bits < 64; ++bits) {
        const Outcome found = run_pieces(cut(text, bits), stops);
        if (found != wanted) {
          FAIL_CHECK("text " << text << " cut " << bits << ": " << found.text);
        }
      }
    }
  }
}

TEST_CASE("random longer texts") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const auto word = [&](std::size_t length) {
      std::string text;
      while (text.size() < length) text += static_cast<char>('a' + random() % 3);
      return text;
    };
    Strings stops;
    for (std::size_t i = 0; i < 1 + random() % 3; ++i) stops.push_back(word(1 + random() % 6));
    const std::string text = word(30);
    CHECK(run_pieces(cut(text, static_cast<std::uint32_t>(random())), stops) ==
          by_definition(text, stops));
  }
}

TEST_CASE("a hostile stop string costs linear time") {
  StopStrings rules(Strings{std::string(1 << 20, 'a') + "b"});
  std::size_t shown = 0;
  for (int i = 0; i < 64; ++i) shown += rules.push(std::string(1 << 15, 'a')).size();
  CHECK(shown == (1u << 21) - (1u << 20));
  CHECK(rules.push("b").empty());
  CHECK(rules.matched());
}

TEST_CASE("stop ids") {
  const auto all = stop_id_union(std::vector<TokenId>{7, 9}, std::vector<TokenId>{7, 5});
  CHECK(all == std::vector<TokenId>{5, 7, 9});
  CHECK(is_stop_id(all, 9));
  CHECK_FALSE(is_stop_id(all, 6));
  CHECK_THROWS_AS(StopStrings(Strings{""}), Error);
}

}  // namespace
}  // namespace linnet
