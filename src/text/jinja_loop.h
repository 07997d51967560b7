// The `loop` variable of a for loop: counters, neighbours, and the way into a recursive loop.
// Items are asked for one by one, since what a body does may decide which later ones pass the
// loop's condition; only `length` and what rests on it look ahead to the end.
#pragma once

#include <deque>
#include <optional>

#include "text/jinja_interpreter.h"

namespace linnet::jinja {

class Loop final : public Object, public std::enable_shared_from_this<Loop> {
 public:
  struct Place {
    Interpreter& interpreter;
    const Stmt& statement;
    ScopePtr outside;
    int depth;  // of recursion, from 0
  };
  // `items` is a list that has all of them.
  Loop(Place place, Value items) : place_(std::move(place)), items_(std::move(items)) {}

  // The next item becomes the current one; nullopt at the end.
  std::optional<Value> advance();

  std::string_view type_name() const override { return "LoopContext"; }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const Args& args) override;
  Value attribute(Runtime& runtime, std::string_view name) override;

 private:
  class LoopMethod;
  // The item behind the current one and the `ahead` that follow it, if there is one.
  const Value* peek(std::size_t ahead = 0);
  std::int64_t length();
  Value cycle(const Args& args) const;
  Value changed(Runtime& runtime, const Args& args);

  Place place_;
  Value items_;
  std::size_t next_item_ = 0;  // of those not yet looked at
  std::deque<Value> ready_;    // looked at and passed, but not yet current
  std::int64_t index_ = -1;
  Value previous_;
  Value current_;
  std::optional<Value> last_checked_;
};

}  // namespace linnet::jinja
