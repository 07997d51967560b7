#include "cli/bench_texts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/random.h"
#include "base/utf8.h"

namespace linnet {
namespace {

// Whole numbers from a seeded stream.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : key_(RandomKey::from_seed(seed)) {}
  std::size_t below(std::size_t limit) { return threefry2x32(key_, 0, counter_++)[0] % limit; }
  // Of `limit` things the n-th about 1/n as often as the first, as words are.
  std::size_t ranked(std::size_t limit) {
    const double part = static_cast<double>(below(1u << 24)) / (1u << 24);
    const double rank = std::pow(static_cast<double>(limit + 1), part) - 1;
    return std::min(static_cast<std::size_t>(rank), limit - 1);
  }

 private:
  RandomKey key_;
  std::uint32_t counter_ = 0;
};

constexpr std::string_view kCommonWords[] = {
    "the",  "of",   "and",  "to",    "a",     "in",   "is",   "that", "it",    "for",  "was",
    "on",   "are",  "as",   "with",  "they",  "be",   "at",   "one",  "have",  "this", "from",
    "or",   "had",  "by",   "not",   "but",   "what", "some", "we",   "can",   "out",  "other",
    "were", "all",  "your", "when",  "use",   "word", "how",  "said", "each",  "time", "people",
    "will", "many", "then", "about", "would", "make", "like", "into", "could", "more"};
constexpr std::string_view kSyllables[] = {
    "an",  "ber", "con",  "der", "ex",  "for",  "gen",  "hol", "in",  "jo", "ker",
    "lan", "men", "nor",  "or",  "per", "qui",  "re",   "ser", "ton", "un", "ver",
    "wil", "ing", "tion", "ed",  "ly",  "ment", "able", "s",   "al",  "ous"};

// The common words first, then made-up ones.
std::vector<std::string> make_words(Dice& dice, std::size_t count) {
  std::vector<std::string> words(std::begin(kCommonWords), std::end(kCommonWords));
  while (words.size() < count) {
    std::string word;
    for (std::size_t parts = 2 + dice.below(3); parts > 0; --parts) {
      word += kSyllables[dice.below(std::size(kSyllables))];
    }
    words.push_back(word);
  }
  return words;
}

std::string english_like(std::size_t bytes) {
  Dice dice(1);
  const std::vector<std::string> words = make_words(dice, 20000);
  std::string out;
  while (out.size() < bytes) {
    const std::size_t length = 5 + dice.below(20);
    for (std::size_t i = 0; i < length; ++i) {
      std::string word = words[dice.ranked(words.size())];
      if (i == 0) word[0] = static_cast<char>(word[0] - 'a' + 'A');
      if (i > 0) out += ' ';
      out += dice.below(60) == 0 ? std::to_string(dice.below(3000)) : word;
      if (dice.below(12) == 0 && i + 1 < length) out += ',';
      if (dice.below(80) == 0) out += "'s";
    }
    out += dice.below(6) == 0 ? ".\n\n" : ". ";
  }
  return out;
}

// Words of one to three ideographs, clauses of three to ten words.
std::string chinese_like(std::size_t bytes) {
  Dice dice(2);
  std::vector<std::string> words;
  while (words.size() < 20000) {
    std::string word;
    for (std::size_t left = words.size() < 200 ? 1 : 1 + dice.below(3); left > 0; --left) {
      append_utf8(word, static_cast<char32_t>(0x4E00 + dice.ranked(6000) * 7 % 20000));
    }
    words.push_back(word);
  }
  constexpr std::string_view kMarks[] = {"，", "，", "，", "。", "。", "、", "；", "。\n"};
  std::string out;
  while (out.size() < bytes) {
    for (std::size_t left = 3 + dice.below(8); left > 0; --left) {
      out += words[dice.ranked(words.size())];
    }
    out += kMarks[dice.below(std::size(kMarks))];
  }
  return out;
}

std::string code_like(std::size_t bytes) {
  Dice dice(3);
  std::vector<std::string> names = make_words(dice, 3000);
  for (std::size_t i = 200; i < names.size(); i += 2) names[i] += "_" + names[dice.ranked(i)];
  const auto name = [&] { return names[dice.ranked(names.size())]; };
  std::string out;
  for (std::size_t depth = 0; out.size() < bytes;) {
    const std::string indent(4 * depth, ' ');
    switch (dice.below(7)) {
      case 0:
        out += indent + "for (int i = 0; i < " + name() + ".size(); ++i) {\n";
        depth = std::min<std::size_t>(depth + 1, 5);
        break;
      case 1:
        out += indent + "if (" + name() + " != " + std::to_string(dice.below(256)) + ") {\n";
        depth = std::min<std::size_t>(depth + 1, 5);
        break;
      case 2:
      case 3:
        if (depth > 0) out += std::string(4 * --depth, ' ') + "}\n\n";
        break;
      case 4:
        out += indent + "// " + name() + " " + name() + " " + name() + "\n";
        break;
      default:
        out += indent + name() + " = " + name() + "(" + name() + ", \"" + name() + "\");\n";
    }
  }
  return out;
}

}  // namespace

std::vector<BenchText> generated_texts(std::size_t bytes) {
  return {{"english-like", english_like(bytes)},
          {"chinese-like", chinese_like(bytes)},
          {"code-like", code_like(bytes)}};
}

}  // namespace linnet
