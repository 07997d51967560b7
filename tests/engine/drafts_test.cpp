#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "engine/drafts.h"
#include "time_limit.h"

namespace linnet {
namespace {

using Ids = std::vector<TokenId>;
using Price = std::function<double(std::int64_t)>;

// Machines, by their price of a pass. The first is flat to 6 rows and 2.6 times at 16.
double steep(std::int64_t rows) {
  return 0.02 * std::max(1.0, 1.0 + 0.16 * static_cast<double>(rows - 6));
}
double flat(std::int64_t rows) { return 0.05 * std::max(1.0, static_cast<double>(rows) / 50.0); }
double dear(std::int64_t rows) { return 0.02 * (0.3 + 0.7 * static_cast<double>(rows)); }
const Price kMachines[] = {steep, flat, dear};

// Words and single other characters of a text, numbered.
Ids words(const std::string& text) {
  static std::map<std::string, TokenId> numbers;
  Ids ids;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0 &&
           std::isalnum(static_cast<unsigned char>(text[end])) != 0) {
      ++end;
    }
    const auto next = static_cast<TokenId>(numbers.size());
    ids.push_back(numbers.emplace(text.substr(at, end - at), next).first->second);
    at = end;
  }
  return ids;
}

Ids prose() {
  std::ifstream file(LINNET_SOURCE_DIR "/src/quantize/texts/evaluation.txt");
  std::stringstream text;
  text << file.rdbuf();
  return words(text.str());
}

struct Replay {
  std::int64_t tokens = 0, passes = 0, drafted = 0, accepted = 0;
  double seconds = 0, plain_seconds = 0;

  double gain() const { return plain_seconds / seconds; }
};

// The passes that an answer takes whose tokens are known.
Replay replay(const Ids& prompt, const Ids& answer, const Price& machine,
              EarlierAnswers* earlier = nullptr) {
  DraftSource source(earlier);
  DraftLength length;
  PassPrice price;
  source.see(prompt);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> noise(1.0, 1.1);
  Replay result;
  result.tokens = static_cast<std::int64_t>(answer.size());
  result.plain_seconds = static_cast<double>(answer.size()) * machine(1);
  for (std::size_t at = 0; at < answer.size();) {
    Draft draft = source.propose(48);
    draft.keep(length.choose(draft, {}, price));
    std::size_t right = 0;
    while (right < draft.ids.size() && at + right < answer.size() &&
           draft.ids[right] == answer[at + right]) {
      ++right;
    }
    const auto rows = 1 + static_cast<std::int64_t>(draft.ids.size());
    price.record(rows, machine(rows) * noise(random));
    length.record(draft, static_cast<std::int64_t>(right), {}, price);
    const std::size_t count = std::min(right + 1, answer.size() - at);
    source.see(std::span(answer).subspan(at, count));
    at += count;
    result.passes += 1;
    result.drafted += rows - 1;
    result.accepted += static_cast<std::int64_t>(right);
    result.seconds += machine(rows);
  }
  return result;
}

Ids edited(const Ids& ids, int one_in, std::mt19937& random) {
  Ids out;
  for (const TokenId id : ids) {
    const bool is_edit = random() % static_cast<unsigned>(one_in) == 0;
    if (!is_edit) out.push_back(id);
    if (is_edit && random() % 2 == 0) out.push_back(ids[random() % ids.size()]);
  }
  return out;
}

Draft draft_after(const Ids& ids, std::int64_t most = 8, EarlierAnswers* earlier = nullptr) {
  DraftSource source(earlier);
  source.see(ids);
  return source.propose(most);
}

TEST_CASE("a draft is what followed the same words") {
  CHECK(draft_after({1, 2, 3, 4, 5, 9, 1, 2}, 3).ids == Ids{3, 4, 5});
  CHECK(draft_after({1, 2, 3, 4, 5, 9, 1, 2}, 0).ids.empty());
  CHECK(draft_after({1, 2, 3, 9, 8, 2}).ids.empty());  // one token is no match
  CHECK(draft_after({1, 2, 3}).ids.empty());
  CHECK(draft_after({}).ids.empty());
}

TEST_CASE("a repetition goes on beyond the end of the text") {
  CHECK(draft_after({5, 6, 7, 5, 6, 7, 5}, 6).ids == Ids{6, 7, 5, 6, 7, 5});
  CHECK(draft_after({4, 4, 4, 4}, 5).ids == Ids{4, 4, 4, 4, 4});
}

TEST_CASE("most places win, then the newest; a longer match goes before both") {
  CHECK(draft_after({1, 2, 7, 1, 2, 7, 1, 2, 8, 1, 2}, 1).ids == Ids{7});
  CHECK(draft_after({1, 2, 7, 0, 1, 2, 8, 3, 1, 2}, 1).ids == Ids{8});
  CHECK(draft_after({5, 6, 1, 2, 7, 1, 2, 8, 1, 2, 8, 5, 6, 1, 2}, 1).ids == Ids{7});
}

TEST_CASE("confidence grows with the match and falls with dissent") {
  const auto first = [](const Ids& ids) { return draft_after(ids, 1).confidence.at(0); };
  const float two = first({1, 2, 7, 0, 1, 2}), four = first({5, 6, 1, 2, 7, 0, 5, 6, 1, 2});
  CHECK(two > 0);
  CHECK(four > two);
  CHECK(four < 1);
  CHECK(first({1, 2, 7, 0, 1, 2, 8, 3, 1, 2}) < two);
  const Draft draft = draft_after({1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2}, 8);
  CHECK(std::is_sorted(draft.confidence.begin(), draft.confidence.end()));
}

TEST_CASE("earlier answers give drafts, and what gave none goes first") {
  EarlierAnswers earlier(64);
  CHECK(draft_after({1, 2}, 3, &earlier).ids.empty());
  earlier.add(Ids{1, 2, 3, 4, 5});
  for (TokenId turn = 0; turn < 40; ++turn) {
    earlier.add(Ids{100 + turn, 200 + turn, 300 + turn, 400 + turn, 500 + turn, 600 + turn});
    REQUIRE(draft_after({1, 2}, 9, &earlier).ids == Ids{3, 4, 5});
  }
  CHECK(draft_after({139, 239}, 9, &earlier).ids == Ids{339, 439, 539, 639});
  CHECK(draft_after({101, 201}, 9, &earlier).ids.empty());
  CHECK(earlier.index().end() - earlier.index().begin() <= 64);
  for (TokenId turn = 0; turn < 40; ++turn) earlier.add(Ids{70, 71, 72, 73 + turn});
  CHECK(draft_after({1, 2}, 9, &earlier).ids.empty());
}

TEST_CASE("answers of any length fit into their store") {
  std::mt19937 random(8);
  EarlierAnswers earlier(100);
  for (int i = 0; i < 2000; ++i) {
    Ids answer(random() % 60);
    for (TokenId& id : answer) id = static_cast<TokenId>(random() % 4);
    earlier.add(answer);
    draft_after(answer, 4, &earlier);
    REQUIRE(earlier.index().end() - earlier.index().begin() <= 100);
  }
}

TEST_CASE("rewriting and copying take less than half of the time, prose loses nothing") {
  std::mt19937 random(5);
  const Ids text = prose();
  REQUIRE(text.size() > 3000);
  for (const Price& machine : {Price(steep), Price(flat)}) {
    CHECK(replay(text, text, machine).gain() > 4);
    CHECK(replay(edited(text, 10, random), text, machine).gain() > 2.5);
  }
  for (const Price& machine : kMachines) {
    CHECK(replay({}, text, machine).gain() > 0.97);
    CHECK(replay(edited(text, 3, random), text, machine).gain() > 0.97);
  }
}

TEST_CASE("records of one form take less than half of the time") {
  std::mt19937 random(6);
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "{\"id\": " + std::to_string(random() % 100000) + ", \"language\": \"" +
            (random() % 2 == 0 ? "en" : "de") + "\", \"category\": \"" +
            (random() % 3 == 0 ? "billing" : "account") + "\", \"escalate\": false},\n";
  }
  const Replay result = replay(words("List the tickets."), words(text), steep);
  CHECK(result.gain() > 2);
  CHECK(result.passes * 2 < result.tokens);
}

TEST_CASE("earlier answers help with the next one alike") {
  const Ids text = prose();
  const auto half = text.begin() + static_cast<std::ptrdiff_t>(text.size() / 2);
  EarlierAnswers earlier(1 << 14);
  const Ids answer(text.begin(), half);
  const double before = replay({}, answer, steep, &earlier).gain();
  earlier.add(answer);
  CHECK(replay({}, answer, steep, &earlier).gain() > 2 * before);
}

TEST_CASE("no stream of tokens loses more than three percent") {
  std::mt19937 random(9);
  for (const unsigned vocab : {1u, 2u, 3u, 8u, 30u, 300u, 100000u}) {
    Ids ids(3000);
    for (TokenId& id : ids) id = static_cast<TokenId>(random() % vocab);
    for (const Price& machine : kMachines) {
      CAPTURE(vocab);
      CHECK(replay({}, ids, machine).gain() > 0.97);
    }
  }
}

TEST_CASE("see and propose cost microseconds") {
  Ids ids;
  const Ids text = prose();
  while (ids.size() < 32000) ids.insert(ids.end(), text.begin(), text.end());
  DraftSource source;
  const testing::ProcessorWatch watch;
  std::size_t drafted = 0;
  for (const TokenId id : ids) {
    source.see({&id, 1});
    drafted += source.propose(16).ids.size();
  }
  CHECK(drafted > ids.size());
  CHECK(watch.seconds() / static_cast<double>(ids.size()) < testing::time_limit(20e-6));
}

}  // namespace
}  // namespace linnet
