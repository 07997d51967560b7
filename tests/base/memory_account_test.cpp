#include "base/memory_account.h"

#include <doctest/doctest.h>

#include <string>

#include "base/error.h"
#include "base/memory_stock.h"
#include "base/telemetry.h"

using namespace linnet;

namespace {

// Ends the limit of a test, however it ends.
struct Limit {
  explicit Limit(std::int64_t bytes) { set_memory_limit(bytes); }
  ~Limit() { set_memory_limit(0); }
};

struct Scratch {
  Buffer buffer;
  void set_cached(bool cached) { buffer.set_cached(cached); }
};

}  // namespace

TEST_CASE("buffers are charged to their account while they live") {
  MemoryAccount account("test");
  {
    Buffer a(1000, account);
    Buffer b = std::move(a);
    CHECK(account.active() == 1000);
    CHECK(reinterpret_cast<std::uintptr_t>(b.data()) % 64 == 0);
  }
  CHECK(account.active() == 0);
  CHECK(account.peak() == 1000);
  account.reset_peak();
  CHECK(account.peak() == 0);
  CHECK_THROWS_AS(Buffer(std::uint64_t{1} << 60, account), Error);
  CHECK(account.active() == 0);
}

TEST_CASE("buffers from 2 MB on begin at a huge page") {
  MemoryAccount account("test");
  const Buffer large((2 << 20) + 1, account), small((2 << 20) - 1, account);
  CHECK(reinterpret_cast<std::uintptr_t>(large.data()) % (2 << 20) == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(small.data()) % 64 == 0);
}

TEST_CASE("what a stock keeps counts as cached until it is used again or freed") {
  MemoryAccount account("test");
  MemoryStock<Scratch> stock;
  auto taken = stock.take();
  taken->buffer = Buffer(1000, account);
  const std::byte* data = taken->buffer.data();
  stock.give_back(std::move(taken));
  CHECK(account.active() == 0);
  CHECK(account.cached() == 1000);
  account.reset_peak();
  taken = stock.take();
  CHECK(taken->buffer.data() == data);
  CHECK(account.active() == 1000);
  CHECK(account.cached() == 0);
  CHECK(account.peak() == 1000);
  Buffer moved = std::move(taken->buffer);
  taken->buffer = Buffer(500, account);
  stock.give_back(std::move(taken));
  CHECK(account.cached() == 500);
  clear_memory_cache();
  CHECK(account.cached() == 0);
  CHECK(account.active() == 1000);
  CHECK(stock.take()->buffer.size() == 0);
}

TEST_CASE("a buffer over the limit is an error with the numbers; cached ones make room for it") {
  MemoryAccount account("test");
  const Buffer first(1000, MemoryAccount::weights());
  MemoryStock<Scratch> stock;
  auto kept = stock.take();
  kept->buffer = Buffer(600, account);
  stock.give_back(std::move(kept));
  const Limit limit(2000);
  const Buffer second(900, account);
  CHECK(account.cached() == 0);
  CHECK_THROWS_WITH_AS(
      Buffer(101, account),
      doctest::Contains("no memory for 101 bytes of test: the limit is 2000 bytes, "
                        "weights hold 1000"),
      Error);
  CHECK(account.active() == 900);
  const Buffer third(100, account);
  CHECK(account.active() == 1000);
}

TEST_CASE("memory.stats tells the sums of all accounts") {
  std::string told;
  const auto subscription = Telemetry::instance().subscribe([&](const TelemetryEvent& event) {
    told = std::string(event.name) + event.measurements.dump() + event.metadata.dump();
  });
  const Buffer a(100, MemoryAccount::cache());
  Buffer b(50, MemoryAccount::scratch());
  for (MemoryAccount* account : MemoryAccount::all()) account->reset_peak();
  b.set_cached(true);
  const MemoryStats stats = memory_stats();
  CHECK(stats.active == 100);
  CHECK(stats.peak == 150);
  CHECK(stats.cached == 50);
  CHECK(told == R"(memory.stats{"active":100,"peak":150,"cache":50}{})");
}
