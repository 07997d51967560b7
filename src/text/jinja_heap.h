// The budget of one render: makes all values that can grow, counts the bytes that are alive, the
// steps done and the depth, and stops the render (Fault{limit}) when one of them runs out. It
// also breaks the cycles that namespaces and macros can form, when the render is over.
#pragma once

#include <climits>
#include <cstdint>
#include <functional>
#include <vector>

#include "text/jinja_value.h"

namespace linnet::jinja {

class Heap {
 public:
  // Without limits, until there are some.
  Heap() = default;
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  Value text(Text text);
  Value text(std::string words) { return text(Text(std::move(words))); }
  Value list(std::vector<Value> items, ListKind kind = ListKind::list);
  Value tuple(std::vector<Value> items) { return list(std::move(items), ListKind::tuple); }
  Value range(std::vector<Value> items, std::string shown);
  Value group(const Value& grouper, const Value& members);
  // Later members replace earlier ones of an equal key; an unhashable key is a fault.
  Value dict(std::vector<DictData::Member> members);
  template <typename T, typename... Rest>
  std::shared_ptr<T> object(int depth, Rest&&... rest) {
    auto made = std::make_shared<T>(std::forward<Rest>(rest)...);
    register_object(*made, depth, sizeof(T));
    return made;
  }

  void step() { spend(1); }
  // Moving or looking at this many bytes.
  void work(std::size_t bytes) { spend(bytes / 64); }
  // Before something of this size is made.
  void reserve(std::size_t bytes) const;
  void check_output(std::size_t bytes) const;
  std::size_t live_bytes() const { return live_bytes_; }
  const JinjaLimits& limits() const { return limits_; }
  // What is alive now comes on top of the limits.
  void set_limits(const JinjaLimits& limits);

  // Called when the render is over, to let go of what may point back at itself.
  void at_end(std::function<void()> release) { at_end_.push_back(std::move(release)); }

  // One level of nested evaluation.
  class Level {
   public:
    explicit Level(Heap& heap) : heap_(heap) { heap_.enter(); }
    ~Level() { --heap_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Heap& heap_;
  };

 private:
  friend class Charge;
  std::shared_ptr<ListData> make_list(std::vector<Value> items, ListKind kind);
  void register_object(Object& object, int depth, std::size_t bytes);
  void spend(std::uint64_t steps);
  void enter();

  JinjaLimits limits_{UINT64_MAX, INT_MAX, SIZE_MAX, SIZE_MAX};
  std::uint64_t steps_ = 0;
  std::size_t live_bytes_ = 0;
  int depth_ = 0;
  std::vector<std::function<void()>> at_end_;
};

// Lists and dicts cannot be keys: Fault{runtime}.
void check_hashable(const Value& key);

// Values nested deeper than this cannot be made: whatever walks a value may recurse.
inline constexpr int kMaxValueDepth = 160;

}  // namespace linnet::jinja
