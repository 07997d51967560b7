#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "engine/suffix_index.h"

namespace linnet {
namespace {

using Ids = std::vector<TokenId>;
using Place = SuffixIndex::Place;

// The same by looking everywhere; `first` is the position of ids[0].
std::vector<Place> plain_find(const Ids& ids, std::int64_t first, const Ids& text) {
  std::vector<Place> all;
  for (auto next = static_cast<std::int64_t>(ids.size()) - 1; next > 0; --next) {
    std::int64_t match = 0;
    const std::int64_t most = std::min({next, static_cast<std::int64_t>(text.size()),
                                        static_cast<std::int64_t>(SuffixIndex::kLongest)});
    while (match < most && text[text.size() - 1 - static_cast<std::size_t>(match)] >= 0 &&
           text[text.size() - 1 - static_cast<std::size_t>(match)] ==
               ids[static_cast<std::size_t>(next - 1 - match)]) {
      ++match;
    }
    all.push_back({next + first, match});
  }
  for (const std::int64_t kind : {16, 8, 4, 2}) {
    std::vector<Place> places;
    for (const Place& place : all) {
      if (place.match >= kind && places.size() < SuffixIndex::kMostPlaces) places.push_back(place);
    }
    if (!places.empty()) return places;
  }
  return {};
}

bool same(const std::vector<Place>& a, const std::vector<Place>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Place& x, const Place& y) {
    return x.next == y.next && x.match == y.match;
  });
}

// Random ids, of which some stretches repeat earlier ones.
Ids random_ids(std::size_t count, int vocab, std::mt19937& random) {
  Ids ids;
  while (ids.size() < count) {
    if (ids.size() > 20 && random() % 3 == 0) {
      const std::size_t from = random() % ids.size(), length = random() % 40;
      for (std::size_t i = 0; i < length; ++i) ids.push_back(ids[from + i]);
    } else {
      for (int i = 0; i < 5; ++i) {
        ids.push_back(static_cast<TokenId>(random() % static_cast<unsigned>(vocab)));
      }
    }
  }
  ids.resize(count);
  return ids;
}

TEST_CASE("finds what a search of everything finds") {
  std::mt19937 random(2);
  int asked = 0, other = 0;
  for (const int vocab : {2, 5, 50, 128000}) {
    const Ids ids = random_ids(900, vocab, random);
    SuffixIndex index;
    std::vector<Place> places;
    Ids seen;
    for (const TokenId id : ids) {
      index.append(id);
      seen.push_back(id);
      index.find(seen, places);
      ++asked;
      if (!same(places, plain_find(seen, index.begin(), seen))) ++other;
    }
  }
  // Where hashes meet, a chain may be cut short.
  CHECK(other * 200 <= asked);
}

TEST_CASE("forgets what fell out of a bounded index, and finds the rest") {
  std::mt19937 random(3);
  const Ids ids = random_ids(5000, 6, random);
  SuffixIndex index(256);
  std::vector<Place> places;
  int asked = 0, other = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    index.append(ids[i]);
    if (i == 3000) index.forget_before(index.end() - 10);
    REQUIRE(index.end() - index.begin() <= 256);
    if (i % 7 != 0) continue;
    const auto held = static_cast<std::size_t>(index.end() - index.begin());
    const Ids kept(ids.begin() + static_cast<std::ptrdiff_t>(i + 1 - held),
                   ids.begin() + static_cast<std::ptrdiff_t>(i + 1));
    for (std::size_t j = 0; j < held; ++j) {
      REQUIRE(index.at(index.begin() + static_cast<std::int64_t>(j)) == kept[j]);
    }
    index.find(kept, places);
    for (const Place& place : places) REQUIRE(place.next > index.begin());
    ++asked;
    if (!same(places, plain_find(kept, index.begin(), kept))) ++other;
  }
  CHECK(other * 100 <= asked);
}

TEST_CASE("an index of another text is asked with this one's end") {
  SuffixIndex index;
  for (const TokenId id : {1, 2, 3, 4, -1, 9, 2, 3, 7, -1}) index.append(id);
  std::vector<Place> places;
  index.find(Ids{5, 2, 3}, places);
  REQUIRE(places.size() == 2);
  CHECK(index.at(places[0].next) == 7);
  CHECK(index.at(places[1].next) == 4);
  CHECK(places[1].match == 2);
  index.find(Ids{3}, places);
  CHECK(places.empty());
  index.find(Ids{}, places);
  CHECK(places.empty());
}

TEST_CASE("nothing matches across a boundary, nor a boundary") {
  SuffixIndex index;
  for (const TokenId id : {1, 2, -1, 3, 4, 5, 1, 2, -1, 3, 4, 6}) index.append(id);
  std::vector<Place> places;
  index.find(Ids{1, 2, -1, 3, 4}, places);
  REQUIRE(places.size() == 2);
  CHECK(places[0].match == 2);
  index.find(Ids{2, -1}, places);
  CHECK(places.empty());
}

TEST_CASE("an empty index finds nothing") {
  SuffixIndex index;
  std::vector<Place> places(3);
  index.find(Ids{1, 2, 3}, places);
  CHECK(places.empty());
  CHECK(index.bytes() == 0);
  index.forget_before(100);
  CHECK(index.begin() == index.end());
}

TEST_CASE("a token takes about sixty bytes") {
  SuffixIndex index, bounded(1 << 12);
  for (int i = 0; i < 1 << 15; ++i) {
    index.append(i % 1000);
    bounded.append(i % 1000);
  }
  CHECK(index.bytes() <= (1 << 15) * 60);
  CHECK(bounded.bytes() <= (1 << 12) * 60);
}

}  // namespace
}  // namespace linnet
