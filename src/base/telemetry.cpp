#include "base/telemetry.h"

#include <exception>

namespace linnet {

Telemetry& Telemetry::instance() {
  static Telemetry bus;
  return bus;
}

Telemetry::Subscription& Telemetry::Subscription::operator=(Subscription&& other) noexcept {
  if (this == &other) return *this;
  if (bus_ != nullptr) bus_->unsubscribe(id_);
  bus_ = std::exchange(other.bus_, nullptr);
  id_ = other.id_;
  return *this;
}

Telemetry::Subscription::~Subscription() {
  if (bus_ != nullptr) bus_->unsubscribe(id_);
}

Telemetry::Subscription Telemetry::subscribe(Subscriber subscriber) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({next_id_, std::make_shared<const Subscriber>(std::move(subscriber))});
  count_.store(static_cast<int>(entries_.size()), std::memory_order_relaxed);
  return Subscription(this, next_id_++);
}

void Telemetry::unsubscribe(int id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [id](const Entry& entry) { return entry.id == id; });
  count_.store(static_cast<int>(entries_.size()), std::memory_order_relaxed);
}

void Telemetry::emit(std::string_view name, Json measurements, Json metadata) {
  if (!active()) return;
  // Called on a copy, so that a subscriber may subscribe or unsubscribe.
  std::vector<Entry> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  const TelemetryEvent event{name, std::move(measurements), std::move(metadata)};
  for (const Entry& entry : entries) (*entry.call)(event);
}

TelemetrySpan::TelemetrySpan(std::string_view name, Json metadata)
    : active_(Telemetry::instance().active()),
      name_(active_ ? name : std::string_view{}),
      metadata_(active_ ? std::move(metadata) : Json()),
      start_(Clock::now()),
      exceptions_(std::uncaught_exceptions()) {
  if (active_) Telemetry::instance().emit(name_ + ".start", Json::object(), metadata_);
}

TelemetrySpan::~TelemetrySpan() {
  if (!active_) return;
  const bool thrown = std::uncaught_exceptions() > exceptions_;
  try {
    Json measurements;
    measurements.set("duration", seconds_since(start_));
    Telemetry::instance().emit(name_ + (thrown ? ".exception" : ".stop"), std::move(measurements),
                               std::move(metadata_));
  } catch (...) {
    // No memory for the event: it is lost, the call it tells of is not.
  }
}

namespace {
thread_local int outer_spans = 0;
}

OuterSpan::OuterSpan(std::string_view name) {
  if (outer_spans == 0) span_.emplace(name);
  ++outer_spans;
}

OuterSpan::~OuterSpan() { --outer_spans; }

}  // namespace linnet
