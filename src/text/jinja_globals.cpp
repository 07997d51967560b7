#include "text/jinja_globals.h"

#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_clock.h"

namespace linnet::jinja {
namespace {

constexpr std::int64_t kMaxRange = 100000;

using Call = Value (*)(Runtime& runtime, const Args& args);

class Function final : public Object {
 public:
  Function(std::string_view name, Call function) : name_(name), function_(function) {}
  std::string_view type_name() const override { return "function"; }
  std::string repr() const override { return fmt::format("<function {}>", name_); }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const Args& args) override { return function_(runtime, args); }

 private:
  std::string_view name_;
  Call function_;
};

std::string range_repr(std::int64_t start, std::int64_t stop, std::int64_t step) {
  return step == 1 ? fmt::format("range({}, {})", start, stop)
                   : fmt::format("range({}, {}, {})", start, stop, step);
}

Value range(Runtime& runtime, const Args& args) {
  const Bound bound("range", args, {"", "", ""}, 1);
  const std::int64_t start = bound.given(1) ? bound.integer(0, 0) : 0;
  const std::int64_t stop = bound.integer(bound.given(1) ? 1 : 0, 0);
  const std::int64_t step = bound.integer(2, 1);
  if (step == 0) value_error("range() arg 3 must not be zero");
  // The distance fits into 64 bits without a sign, whatever the bounds are.
  const bool empty = step > 0 ? start >= stop : start <= stop;
  const auto low = static_cast<std::uint64_t>(step > 0 ? start : stop);
  const auto high = static_cast<std::uint64_t>(step > 0 ? stop : start);
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : ~static_cast<std::uint64_t>(step) + 1;
  const std::uint64_t count = empty ? 0 : (high - low - 1) / stride + 1;
  if (count > kMaxRange) {
    fault(JinjaErrorKind::runtime,
          fmt::format("Range too big. The sandbox blocks ranges larger than {}.", kMaxRange));
  }
  runtime.heap.reserve(count * sizeof(Value));
  std::vector<Value> items;
  items.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    items.push_back(Value(static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                                    i * static_cast<std::uint64_t>(step))));
  }
  return runtime.heap.range(std::move(items), range_repr(start, stop, step));
}

Value make_dict(Runtime& runtime, const Args& args) {
  if (args.positional.size() > 1) {
    type_error(fmt::format("dict expected at most 1 argument, got {}", args.positional.size()));
  }
  std::vector<DictData::Member> members;
  if (!args.positional.empty() && args.positional[0].is_dict()) {
    members = args.positional[0].dict()->members;
  } else if (!args.positional.empty()) {
    if (args.positional[0].is_undefined()) missing_fault(args.positional[0]);
    for (const Value& entry : iterate(runtime.heap, args.positional[0])) {
      const std::vector<Value> pair = iterate(runtime.heap, entry);
      if (pair.size() != 2) value_error("dictionary update sequence element needs length 2");
      members.emplace_back(pair[0], pair[1]);
    }
  }
  for (const auto& [key, value] : args.named) members.emplace_back(runtime.heap.text(key), value);
  return runtime.heap.dict(std::move(members));
}

Value make_namespace(Runtime& runtime, const Args& args) {
  auto made = runtime.heap.object<Namespace>(0);
  runtime.heap.at_end([made] { made->clear(); });
  const Value first = make_dict(runtime, args);
  for (const auto& [key, value] : first.dict()->members) {
    made->set(runtime.heap, to_text(runtime.heap, key).bytes(), value);
  }
  return Value(ObjectPtr(std::move(made)));
}

class Cycler final : public Object, public std::enable_shared_from_this<Cycler> {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "Cycler"; }
  Value attribute(Runtime& runtime, std::string_view name) override;

 private:
  enum class Action { next, reset };
  class Step;
  Value run(Action action) {
    if (action == Action::reset) {
      at_ = 0;
      return Value();
    }
    const Value value = items_[at_];
    at_ = (at_ + 1) % items_.size();
    return value;
  }

  std::vector<Value> items_;
  std::size_t at_ = 0;
};

class Cycler::Step final : public Object {
 public:
  Step(std::shared_ptr<Cycler> owner, Action action) : owner_(std::move(owner)), action_(action) {}
  std::string_view type_name() const override { return "method"; }
  bool callable() const override { return true; }
  Value call(Runtime&, const Args& args) override {
    const Bound bound("next", args, {});
    return owner_->run(action_);
  }

 private:
  std::shared_ptr<Cycler> owner_;
  Action action_;
};

Value Cycler::attribute(Runtime& runtime, std::string_view name) {
  if (name == "current") return items_[at_];
  if (name != "next" && name != "reset") return Object::attribute(runtime, name);
  const Action action = name == "next" ? Action::next : Action::reset;
  return Value(ObjectPtr(runtime.heap.object<Step>(depth + 1, shared_from_this(), action)));
}

int depth_of(const Args& args) {
  int depth = 0;
  for (const Value& value : args.positional) depth = std::max(depth, value.depth());
  return depth + 1;
}

Value make_cycler(Runtime& runtime, const Args& args) {
  if (!args.named.empty()) type_error("cycler() takes no keyword arguments");
  if (args.positional.empty()) type_error("at least one item has to be provided");
  runtime.heap.work(args.positional.size() * sizeof(Value));
  return Value(ObjectPtr(runtime.heap.object<Cycler>(depth_of(args), args.positional)));
}

class Joiner final : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "Joiner"; }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, const Args& args) override {
    const Bound bound("joiner", args, {});
    return std::exchange(used_, true) ? separator_ : runtime.heap.text("");
  }

 private:
  Value separator_;
  bool used_ = false;
};

Value make_joiner(Runtime& runtime, const Args& args) {
  const Bound bound("joiner", args, {"sep"});
  const Value separator = bound.value(0, runtime.heap.text(", "));
  return Value(ObjectPtr(runtime.heap.object<Joiner>(separator.depth() + 1, separator)));
}

Value raise_exception(Runtime& runtime, const Args& args) {
  const Bound bound("raise_exception", args, {"message"}, 1);
  fault(JinjaErrorKind::raised, to_text(runtime.heap, *bound[0]).bytes());
}

Value strftime_now(Runtime& runtime, const Args& args) {
  const Bound bound("strftime_now", args, {"format"}, 1);
  const Text& format = *bound.exact_text(0);
  runtime.heap.reserve(format.size() * 16);
  return runtime.heap.text(Text::like(format, format_time(runtime.now, format.bytes())));
}

// Known to templates, and of no use to them here.
Value unsupported(Runtime&, const Args&) { type_error("this function is not supported"); }

constexpr std::pair<std::string_view, Call> kFunctions[] = {
    {"range", range},
    {"dict", make_dict},
    {"namespace", make_namespace},
    {"cycler", make_cycler},
    {"joiner", make_joiner},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
    {"lipsum", unsupported},
    {"self", unsupported},
};

}  // namespace

std::optional<Value> global_function(Runtime& runtime, std::string_view name) {
  for (const auto& [known, call] : kFunctions) {
    if (known == name) return Value(ObjectPtr(runtime.heap.object<Function>(0, known, call)));
  }
  return std::nullopt;
}

Value Namespace::attribute(Runtime& runtime, std::string_view name) {
  const auto found = attributes_.find(name);
  return found == attributes_.end() ? Object::attribute(runtime, name) : found->second;
}

void Namespace::set(Heap& heap, const std::string& name, Value value) {
  if (name.starts_with('_')) {
    fault(JinjaErrorKind::security,
          fmt::format("Chat templates cannot store underscore-prefixed attributes on a namespace, "
                      "but got '{}'. Please rename the attribute.",
                      name));
  }
  if (attributes_.find(name) == attributes_.end()) charges_.emplace_back(heap, name.size() + 96);
  attributes_[name] = std::move(value);
}

}  // namespace linnet::jinja
