#include "base/thread_pool.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "base/error.h"

using namespace linnet;

TEST_CASE("every index is visited exactly once, whatever the counts") {
  for (const int threads : {1, 2, 3, 5, 8}) {
    ThreadPool pool(threads);
    CHECK(pool.size() == threads);
    for (const std::int64_t count : {0, 1, 2, 7, 64, 1000}) {
      for (const std::int64_t grain : {1, 3, 64, 2000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
        pool.parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        int wrong = 0;
        for (const auto& visit : visits) wrong += visit != 1;
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("one thread's slow share is stolen by the others") {
  ThreadPool pool(4);
  std::atomic<std::int64_t> sum{0};
  pool.parallel_for(400, 1, [&](std::int64_t begin, std::int64_t) {
    // The first quarter is a thousand times the work of the rest.
    volatile double x = 1;
    for (int i = 0; i < (begin < 100 ? 20000 : 20); ++i) x = x * 1.0000001;
    sum += begin;
  });
  CHECK(sum == 400 * 399 / 2);
}

TEST_CASE("the first exception comes back, and the pool goes on working") {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round) {
    CHECK_THROWS_AS(pool.parallel_for(100, 1,
                                      [&](std::int64_t begin, std::int64_t) {
                                        if (begin == 50) throw std::runtime_error("x");
                                      }),
                    std::runtime_error);
    std::atomic<int> count{0};
    pool.parallel_for(100, 1, [&](std::int64_t, std::int64_t) { ++count; });
    CHECK(count == 100);
  }
}

TEST_CASE("callers of one pool wait for each other") {
  ThreadPool pool(2);
  std::atomic<int> done{0};
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      pool.parallel_for(8, 1, [&](std::int64_t, std::int64_t) { ++done; });
    }
  };
  std::thread a(work), b(work), c(work);
  a.join(), b.join(), c.join();
  CHECK(done == 3 * 200 * 8);
}

TEST_CASE("sleeping workers wake") {
  ThreadPool pool(3);
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> count{0};
    pool.parallel_for(30, 1, [&](std::int64_t, std::int64_t) { ++count; });
    CHECK(count == 30);
  }
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif
#else
constexpr bool kAddressSanitizer = false;
#endif

TEST_CASE("threads that the system cannot give are an error, not the end") {
  if (kAddressSanitizer) {
    MESSAGE("skipped: the address sanitizer needs memory of its own for every thread");
    return;
  }
  // In a child of its own: the limit stays, and 256 stacks of 8 MB do not fit below it.
  const pid_t child = ::fork();
  if (child == 0) {
    rlimit limit{};
    std::ifstream statm("/proc/self/statm");
    std::uint64_t pages = 0;
    statm >> pages;
    limit.rlim_cur = limit.rlim_max = pages * 4096 + (std::uint64_t{64} << 20);
    if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(9);
    try {
      const ThreadPool pool(256);
      ::_exit(8);
    } catch (const Error& error) {
      ::_exit(error.code() == ErrorCode::out_of_memory ? 0 : 7);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
