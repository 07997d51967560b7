// The telemetry bus: named events with numbers and words attached. Costs one atomic load when
// nobody listens. Subscribers are called on the thread that emits and must not throw.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace linnet {

struct TelemetryEvent {
  std::string_view name;  // "compiler.fallback"
  Json measurements;      // {"count": 1}
  Json metadata;          // {"reason": "..."}
};

class Telemetry {
 public:
  using Subscriber = std::function<void(const TelemetryEvent&)>;

  // Unsubscribes when destroyed.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Telemetry* bus, int id) : bus_(bus), id_(id) {}
    Subscription(Subscription&& other) noexcept
        : bus_(std::exchange(other.bus_, nullptr)), id_(other.id_) {}
    Subscription& operator=(Subscription&& other) noexcept;
    ~Subscription();

   private:
    Telemetry* bus_ = nullptr;
    int id_ = 0;
  };

  // The bus of this process.
  static Telemetry& instance();

  [[nodiscard]] Subscription subscribe(Subscriber subscriber);
  bool active() const { return count_.load(std::memory_order_relaxed) > 0; }
  // Hot paths test active() before they build the values.
  void emit(std::string_view name, Json measurements, Json metadata = Json::object());

 private:
  void unsubscribe(int id);

  struct Entry {
    int id;
    std::shared_ptr<const Subscriber> call;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::atomic<int> count_{0};
  int next_id_ = 1;
};

// Emits `name`.start, then `name`.stop or, when left by an exception, `name`.exception, with the
// duration in seconds.
class TelemetrySpan {
 public:
  explicit TelemetrySpan(std::string_view name, Json metadata = Json::object());
  ~TelemetrySpan();
  TelemetrySpan(const TelemetrySpan&) = delete;
  TelemetrySpan& operator=(const TelemetrySpan&) = delete;

 private:
  bool active_;
  std::string name_;
  Json metadata_;
  Clock::time_point start_;
  int exceptions_;
};

// The span of a call from outside. Within it others on the same thread say nothing: what a run
// does inside is not told step by step.
class OuterSpan {
 public:
  explicit OuterSpan(std::string_view name);
  ~OuterSpan();
  OuterSpan(const OuterSpan&) = delete;
  OuterSpan& operator=(const OuterSpan&) = delete;

 private:
  std::optional<TelemetrySpan> span_;
};

}  // namespace linnet
