// Streams: order, limits, nesting, stopping, and the same bits from sixteen of them.
#include "native/stream.h"

#include <doctest/doctest.h>

#include <future>
#include <stdexcept>
#include <vector>

#include "base/telemetry.h"
#include "native/native_lane.h"
#include "program/run_sequence.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

// Keeps a stream busy until it is let go, or told to stop.
class Blocker {
 public:
  explicit Blocker(Stream& stream)
      : call_(stream.post([this](const std::atomic<bool>& cancel) {
          started_.set_value();
          while (!open_.load() && !cancel.load()) std::this_thread::yield();
          return cancel.load();
        })) {
    started_.get_future().wait();
  }
  ~Blocker() { release(); }
  void release() {
    open_.store(true);
    call_.wait_until(std::nullopt);
  }
  bool was_cancelled() { return call_.get(); }
  void cancel() { call_.cancel(); }

 private:
  std::atomic<bool> open_{false};
  std::promise<void> started_;
  Stream::Pending<bool> call_;
};

Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::milliseconds(5); }

template <typename F>
ErrorCode code_of(F function) {
  try {
    function();
  } catch (const Error& error) {
    return error.code();
  }
  throw std::logic_error("no error came");
}

}  // namespace

TEST_CASE("calls are made in order, on one thread that is not the caller's") {
  Stream stream;
  std::vector<int> order;
  std::vector<Stream::Pending<std::thread::id>> pending;
  for (int i = 0; i < 100; ++i) {
    pending.push_back(stream.post([&order, i] {
      order.push_back(i);
      return std::this_thread::get_id();
    }));
  }
  const std::thread::id worker = pending.back().get();
  CHECK(worker != std::this_thread::get_id());
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  CHECK(pending.front().get() == worker);
  CHECK(stream.call([] { return 7; }) == 7);
}

TEST_CASE("what a call throws reaches its caller; the stream goes on") {
  Stream stream;
  CHECK_THROWS_WITH_AS(stream.call([] { throw std::runtime_error("mine"); }), "mine",
                       std::runtime_error);
  auto pending = stream.post([]() -> int { fail(ErrorCode::unsupported, "that"); });
  CHECK(code_of([&] { pending.get(); }) == ErrorCode::unsupported);
  CHECK(code_of([&] { stream.call([] { throw std::bad_alloc(); }); }) == ErrorCode::out_of_memory);
  CHECK(stream.call([] { return 1; }) == 1);
}

TEST_CASE("a full queue is an error that says so") {
  Stream stream({.queue_limit = 3});
  Blocker blocker(stream);
  std::vector<Stream::Pending<int>> queued;
  for (int i = 0; i < 3; ++i) queued.push_back(stream.post([i] { return i; }));
  CHECK(code_of([&] { stream.post([] {}); }) == ErrorCode::overloaded);
  CHECK(code_of([&] { stream.call([] {}); }) == ErrorCode::overloaded);
  blocker.release();
  for (int i = 0; i < 3; ++i) CHECK(queued[static_cast<std::size_t>(i)].get() == i);
  CHECK(stream.call([] { return 4; }) == 4);
  CHECK(StreamOptions().queue_limit == 8192);
}

TEST_CASE("a stopped stream answers with errors") {
  Stream stream;
  Blocker blocker(stream);
  auto queued = stream.post([] { return 1; });
  stream.stop();
  CHECK(blocker.was_cancelled());
  CHECK(code_of([&] { queued.get(); }) == ErrorCode::cancelled);
  CHECK(code_of([&] { stream.call([] {}); }) == ErrorCode::cancelled);
  stream.stop();
}

TEST_CASE("a stream that is destroyed answers what is queued") {
  std::optional<Stream::Pending<int>> queued;
  {
    Stream stream;
    stream.post([](const std::atomic<bool>& cancel) {
      while (!cancel.load()) std::this_thread::yield();
    });
    queued = stream.post([] { return 1; });
  }
  CHECK(code_of([&] { queued->get(); }) == ErrorCode::cancelled);
}

TEST_CASE("a stream that stops itself") {
  Stream stream;
  auto queued = stream.call([&] {
    auto inner = stream.post([] { return 3; });
    stream.stop();
    return inner;
  });
  CHECK(queued.get() == 3);
  CHECK(code_of([&] { stream.call([] {}); }) == ErrorCode::cancelled);
}

TEST_CASE("deadlines and cancellation") {
  Stream stream;
  Blocker blocker(stream);
  bool was_made = false;
  CHECK(code_of([&] { stream.call([&] { was_made = true; }, soon()); }) == ErrorCode::cancelled);
  auto pending = stream.post([&] { was_made = true; });
  CHECK(!pending.wait_until(soon()));
  pending.cancel();
  CHECK(code_of([&] { pending.get(); }) == ErrorCode::cancelled);
  blocker.cancel();
  CHECK(blocker.was_cancelled());
  // One that is being made is told and waited for.
  const auto until_cancelled = [](const std::atomic<bool>& cancel) {
    while (!cancel.load()) std::this_thread::yield();
    return 5;
  };
  CHECK(stream.call(until_cancelled, soon()) == 5);
  CHECK(!was_made);
}

TEST_CASE("scopes nest and are restored, after exceptions too") {
  Stream outer, inner;
  CHECK(Stream::current() == nullptr);
  const auto thread = [] { return std::this_thread::get_id(); };
  const auto here = thread();
  CHECK(call_on_current_stream(thread) == here);
  {
    const StreamScope scope(outer);
    CHECK(call_on_current_stream(thread) == outer.call(thread));
    try {
      const StreamScope nested(inner);
      CHECK(call_on_current_stream(thread) == inner.call(thread));
      throw std::runtime_error("x");
    } catch (const std::runtime_error&) {
    }
    CHECK(Stream::current() == &outer);
  }
  CHECK(Stream::current() == nullptr);
}

TEST_CASE("on its own worker a stream calls at once; another stream is waited for") {
  Stream stream, other;
  const int sum = stream.call([&] {
    CHECK(Stream::current() == &stream);
    auto posted = stream.post([] { return 1; });
    return posted.get() + stream.call([] { return 10; }) + other.call([] { return 100; });
  });
  CHECK(sum == 111);
}

TEST_CASE("cancellation ends a run between its steps, and leaves the cache as it was") {
  const RandomProgram program;
  const ReferenceLane lane = program.lane();
  const auto tokens = some_tokens(1, 600);
  KvCache cache = lane.make_cache();
  run_all(lane, cache, std::span(tokens).first(3));
  const std::int64_t held = MemoryAccount::cache().active();
  Stream stream;
  auto pending = stream.post([&](const std::atomic<bool>& cancel) {
    while (!cancel.load()) std::this_thread::yield();
    RunOptions options;
    options.cancel = &cancel;
    return run_all(lane, cache, tokens, options);
  });
  pending.cancel();
  CHECK(code_of([&] { pending.get(); }) == ErrorCode::cancelled);
  CHECK(cache.length() == 3);
  CHECK(MemoryAccount::cache().active() == held);
}

TEST_CASE("sixteen streams over one lane, a hundred runs each: the same bits") {
  const RandomProgram program;
  NativeOptions options;
  options.weights = options.head = PackedFormat::i8;
  options.cache = CacheFormat::i8;
  const NativeLane lane(program.program(), program.weights(), std::make_shared<ThreadPool>(2),
                        options);
  const auto tokens = some_tokens(3, 20);
  const auto expected = run_alone(lane, tokens);
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Stream::Pending<int>> answers;
  for (int i = 0; i < 16; ++i) {
    streams.push_back(std::make_unique<Stream>());
    answers.push_back(streams.back()->post([&] {
      int equal = 0;
      for (int run = 0; run < 100; ++run) equal += run_alone(lane, tokens) == expected;
      return equal;
    }));
  }
  for (auto& answer : answers) CHECK(answer.get() == 100);
}

TEST_CASE("events: eval, and async_eval in its place for what is posted") {
  const RandomProgram program;
  const ReferenceLane lane = program.lane();
  const auto tokens = some_tokens(4, 3);
  std::mutex mutex;
  std::vector<std::string> seen;
  const auto subscription = Telemetry::instance().subscribe([&](const TelemetryEvent& event) {
    const std::lock_guard lock(mutex);
    seen.emplace_back(event.name);
    if (event.name == "to_binary.stop") {
      CHECK(event.metadata.dump() == R"({"shape":[3,50],"dtype":"f32","byte_size":600})");
      CHECK(event.measurements.at("duration").as_double() >= 0);
    }
  });
  Stream stream;
  stream.call([&] { return run_alone(lane, tokens); });
  const std::vector<std::string> result = {"to_binary.start", "to_binary.stop"};
  std::vector<std::string> expected = {"eval.start", result[0], result[1], "eval.stop"};
  CHECK(seen == expected);
  seen.clear();
  stream.post([&] { return run_alone(lane, tokens); }).get();
  expected = {"async_eval.start", result[0], result[1], "async_eval.stop"};
  CHECK(seen == expected);
  seen.clear();
  CHECK_THROWS_AS(stream.post([] { throw std::runtime_error("x"); }).get(), std::runtime_error);
  expected = {"async_eval.start", "async_eval.exception"};
  CHECK(seen == expected);
}
