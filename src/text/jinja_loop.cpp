#include "text/jinja_loop.h"

#include <fmt/core.h>

namespace linnet::jinja {

// loop.cycle and loop.changed
class Loop::LoopMethod final : public Object {
 public:
  LoopMethod(std::shared_ptr<Loop> loop, bool cycles) : loop_(std::move(loop)), cycles_(cycles) {}
  std::string_view type_name() const override { return "method"; }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const Args& args) override {
    return cycles_ ? loop_->cycle(args) : loop_->changed(runtime, args);
  }

 private:
  std::shared_ptr<Loop> loop_;
  bool cycles_;
};

const Value* Loop::peek(std::size_t ahead) {
  const std::vector<Value>& all = items_.list()->items;
  while (ready_.size() <= ahead && next_item_ < all.size()) {
    const Value& item = all[next_item_++];
    if (place_.interpreter.passes(place_.statement, place_.outside, item)) ready_.push_back(item);
  }
  return ready_.size() > ahead ? &ready_[ahead] : nullptr;
}

std::optional<Value> Loop::advance() {
  if (peek() == nullptr) return std::nullopt;
  previous_ = std::exchange(current_, ready_.front());
  ready_.pop_front();
  ++index_;
  return current_;
}

std::int64_t Loop::length() {
  peek(SIZE_MAX - 1);
  return index_ + 1 + static_cast<std::int64_t>(ready_.size());
}

Value Loop::attribute(Runtime& runtime, std::string_view name) {
  if (name == "index") return Value(index_ + 1);
  if (name == "index0") return Value(index_);
  if (name == "first") return Value(index_ == 0);
  if (name == "last") return Value(peek() == nullptr);
  if (name == "length") return Value(length());
  if (name == "revindex") return Value(length() - index_);
  if (name == "revindex0") return Value(length() - index_ - 1);
  if (name == "depth") return Value(std::int64_t{place_.depth + 1});
  if (name == "depth0") return Value(std::int64_t{place_.depth});
  if (name == "previtem") {
    return index_ > 0 ? previous_ : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    const Value* next = peek();
    return next != nullptr ? *next : Value::undefined("there is no next item");
  }
  if (name == "cycle" || name == "changed") {
    return Value(
        ObjectPtr(runtime.heap.object<LoopMethod>(depth + 1, shared_from_this(), name == "cycle")));
  }
  return Object::attribute(runtime, name);
}

Value Loop::call(Runtime& runtime, const Args& args) {
  const Bound bound("loop", args, {"iterable"}, 1);
  if (!place_.statement.recursive) {
    type_error("The loop must have the 'recursive' marker to be called recursively.");
  }
  return runtime.heap.text(
      place_.interpreter.call_loop(place_.statement, place_.outside, *bound[0], place_.depth + 1));
}

Value Loop::cycle(const Args& args) const {
  if (args.positional.empty()) type_error("no items for cycling given");
  return args.positional[static_cast<std::size_t>(index_) % args.positional.size()];
}

Value Loop::changed(Runtime& runtime, const Args& args) {
  Value value = runtime.heap.tuple(args.positional);
  const bool differs = !last_checked_ || !equal(*last_checked_, value);
  last_checked_ = std::move(value);
  return Value(differs);
}

}  // namespace linnet::jinja
