#include "engine/scheduler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/random.h"

namespace linnet {
namespace {

// Sequences whose answers have a known length, and passes that only count.
class Work {
 public:
  explicit Work(std::int64_t blocks, SchedulerOptions options = {})
      : pool_(BlockPool::make(8, blocks)), scheduler_(options, pool_, prefixes_, price_) {
    for (std::int64_t rows = 1; rows <= 1024; rows *= 2) {
      // One to four rows cost the same, then every row its share.
      price_.record(rows, std::max(1.0, static_cast<double>(rows) / 4));
    }
  }

  std::shared_ptr<Sequence> add(std::int64_t prompt, std::int64_t answer,
                                const std::string& caller = "", std::int32_t priority = 0,
                                TokenId first_id = 0) {
    auto sequence = std::make_shared<Sequence>(KvCache(pool_));
    sequence->order = {priority, next_++, 0};
    sequence->caller = caller;
    sequence->ids.resize(static_cast<std::size_t>(prompt));
    std::iota(sequence->ids.begin(), sequence->ids.end(), first_id);
    sequence->prompt = prompt;
    answers_[sequence.get()] = answer;
    scheduler_.add(sequence);
    return sequence;
  }

  // One pass; the sequences that ended in it.
  std::vector<Sequence*> pass() {
    const auto plan = scheduler_.plan();
    std::vector<Sequence*> ended;
    rows_.clear();
    for (const PlannedRows& each : plan) {
      Sequence& sequence = *each.sequence;
      REQUIRE(each.rows() > 0);
      rows_[&sequence] += each.rows();
      sequence.cache.commit(each.rows());
      const bool is_at_end = sequence.pending() == 0;
      if (is_at_end) sequence.ids.push_back(-1);
      scheduler_.note_computed(sequence, each.ids);
      if (is_at_end && std::ssize(sequence.ids) == sequence.prompt + answers_.at(&sequence)) {
        ended.push_back(&sequence);
      }
    }
    REQUIRE(pool_->used() <= pool_->capacity());
    for (Sequence* sequence : ended) scheduler_.remove(*sequence, true);
    return ended;
  }
  std::int64_t rows(const std::shared_ptr<Sequence>& sequence) { return rows_[sequence.get()]; }
  std::int64_t rows() const {
    std::int64_t sum = 0;
    for (const auto& each : rows_) sum += each.second;
    return sum;
  }

  Scheduler& scheduler() { return scheduler_; }
  PrefixCache& prefixes() { return prefixes_; }
  const std::shared_ptr<BlockPool>& pool() { return pool_; }
  const PassPrice& price() const { return price_; }

 private:
  std::shared_ptr<BlockPool> pool_;
  PrefixCache prefixes_;
  PassPrice price_;
  Scheduler scheduler_;
  std::int64_t next_ = 0;
  std::map<const Sequence*, std::int64_t> answers_;
  std::map<const Sequence*, std::int64_t> rows_;
};

}  // namespace

TEST_CASE("sequences join and leave at every pass") {
  Work work(100);
  const auto first = work.add(10, 3);
  CHECK(work.pass().empty());
  CHECK(work.rows(first) == 10);
  const auto second = work.add(5, 1, "", 0, 500);
  CHECK(work.pass() == std::vector<Sequence*>{second.get()});
  CHECK(work.rows(first) == 1);
  CHECK(work.rows(second) == 5);
  CHECK(work.pass() == std::vector<Sequence*>{first.get()});
  CHECK(work.scheduler().running() == 0);
}

TEST_CASE("a long prompt does not hold up those that answer") {
  Work work(1000);
  const auto stream = work.add(10, 8000);
  work.pass();
  const auto longer = work.add(30000, 2, "", 0, 100000);
  const double alone = work.price().seconds(1);
  int passes = 0;
  while (longer->computed() < 30000 && passes < 6000) {
    work.pass();
    ++passes;
    CHECK(work.rows(stream) == 1);
    CHECK(work.price().seconds(work.rows()) < 3 * alone);
  }
  CHECK(passes > 1000);  // ten rows a time
  CHECK(passes < 6000);
}

TEST_CASE("a short prompt need not wait for the end of a long one") {
  for (const std::string caller : {"", "another"}) {
    CAPTURE(caller);
    Work work(1000);
    work.add(30000, 1, "", 0, 100000);
    for (int i = 0; i < 5; ++i) work.pass();
    const auto quick = work.add(300, 2, caller);
    int passes = 0;
    while (quick->computed() < 300 && passes < 100) work.pass(), ++passes;
    CHECK(passes <= 3);
  }
}

TEST_CASE("callers share the work, however many requests each has") {
  Work work(4000, {.most_running = 200});
  std::vector<std::shared_ptr<Sequence>> many;
  for (TokenId i = 0; i < 50; ++i) many.push_back(work.add(2000, 1, "many", 0, 10000 * i));
  const auto one = work.add(20000, 1, "one", 0, 1000000);
  std::int64_t of_many = 0;
  for (int pass = 0; pass < 60; ++pass) {
    work.pass();
    for (const auto& each : many) of_many += work.rows(each);
  }
  CHECK(one->computed() > of_many / 4);
}

TEST_CASE("higher priorities go first") {
  Work work(1000, {.most_running = 1});
  work.add(600, 1, "", 0, 0);
  const auto low = work.add(600, 1, "", 0, 10000);
  const auto high = work.add(600, 1, "", 5, 20000);
  std::vector<Sequence*> order;
  for (int i = 0; i < 20; ++i) {
    for (Sequence* ended : work.pass()) order.push_back(ended);
  }
  REQUIRE(order.size() == 3);
  CHECK(order[0] == high.get());
  CHECK(order[2] == low.get());
}

TEST_CASE("when blocks run out the last goes back, and all end") {
  Work work(12);  // 768 positions
  std::vector<std::shared_ptr<Sequence>> all;
  for (TokenId i = 0; i < 6; ++i) all.push_back(work.add(100, 400, "", 0, 1000 * i));
  std::size_t ended = 0;
  for (int pass = 0; pass < 20000 && ended < all.size(); ++pass) {
    const auto now = work.pass();
    if (!now.empty() && ended == 0) CHECK(now.front() == all.front().get());
    ended += now.size();
  }
  CHECK(ended == all.size());
  CHECK(work.scheduler().preemptions() > 0);
  CHECK(all.front()->preemptions == 0);
  work.prefixes().clear();
  CHECK(work.pool()->used() == 0);
}

TEST_CASE("a second request computes only what is new") {
  Work work(100);
  const auto first = work.add(2000, 2);
  for (int pass = 0; pass < 10; ++pass) work.pass();
  const auto second = work.add(2010, 1);
  work.pass();
  CHECK(second->cached == 2000);
  CHECK(work.rows(second) == 10);
  CHECK(work.prefixes().stats().hits == 2000);
  CHECK(work.prefixes().stats().misses == 2010);
}

TEST_CASE("forks share blocks and count as sequences") {
  Work work(20, {.most_running = 4});
  const auto parent = work.add(130, 50);
  parent->slots = 3;
  work.pass();
  for (int i = 1; i < 3; ++i) {
    auto child = std::make_shared<Sequence>(*parent);
    child->order.index = i;
    child->slots = 1;
    work.scheduler().add_fork(*parent, child);
  }
  CHECK(work.pool()->used() == 3);
  CHECK(work.scheduler().running() == 3);
}

TEST_CASE("random loads: every sequence ends, and no block is lost") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random(seed);
    const auto below = [&](int n) {
      return static_cast<std::int64_t>(random.next_uniform() * static_cast<float>(n));
    };
    Work work(8 + below(20), {.most_running = 1 + below(12)});
    std::int64_t open = 0;
    std::vector<std::shared_ptr<Sequence>> live;
    for (int pass = 0; pass < 6000 && (pass < 300 || open > 0); ++pass) {
      if (pass < 300 && below(3) == 0) {
        const std::string caller(1, static_cast<char>('a' + below(3)));
        live.push_back(work.add(1 + below(300), 1 + below(100), caller,
                                static_cast<std::int32_t>(below(3)),
                                static_cast<TokenId>(below(4))));
        ++open;
      }
      for (Sequence* ended : work.pass()) {
        std::erase_if(live, [&](const auto& each) { return each.get() == ended; });
        --open;
      }
      if (!live.empty() && below(20) == 0) {  // cancelled, wherever it is
        const auto at = live.begin() + below(static_cast<int>(live.size()));
        work.scheduler().remove(**at, below(2) == 0);
        live.erase(at);
        --open;
      }
    }
    CHECK(open == 0);
    work.prefixes().clear();
    CHECK(work.pool()->used() == 0);
  }
}

}  // namespace linnet
