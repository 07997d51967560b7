#include "text/jinja_heap.h"

#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_operators.h"

namespace linnet::jinja {
namespace {

// What a value costs beside its payload: the shared block and the allocator's own share.
constexpr std::size_t kBlockBytes = 64;
// From this many members on, texts are looked up by hash.
constexpr std::size_t kIndexedMembers = 16;

void check_depth(int depth) {
  if (depth > kMaxValueDepth) {
    fault(JinjaErrorKind::limit,
          fmt::format("values nested deeper than {} levels", kMaxValueDepth));
  }
}

}  // namespace

void check_hashable(const Value& key) {
  key.look();
  const bool list =
      key.is_list() && (key.list()->kind == ListKind::list || key.list()->kind == ListKind::keys ||
                        key.list()->kind == ListKind::items);
  if (key.is_dict() || list) {
    type_error(fmt::format("unhashable type: '{}'", type_name(key)));
  }
  if (key.is_list() && key.list()->kind == ListKind::tuple) {
    for (const Value& item : key.list()->items) check_hashable(item);
  }
}

Charge::Charge(Heap& heap, std::size_t bytes) : heap_(&heap), bytes_(bytes) {
  heap.reserve(bytes);
  heap.live_bytes_ += bytes;
}

Charge::~Charge() {
  if (heap_ != nullptr) heap_->live_bytes_ -= bytes_;
}

void Charge::look(std::size_t bytes) const {
  if (heap_ == nullptr) return;
  heap_->step();
  heap_->work(bytes);
}

Heap::~Heap() {
  for (auto& release : at_end_) release();
}

void Heap::set_limits(const JinjaLimits& limits) {
  limits_ = limits;
  limits_.value_bytes += live_bytes_;
  limits_.output_bytes += 4 * live_bytes_;
  limits_.steps += live_bytes_ / 16;
  steps_ = 0;
}

void Heap::reserve(std::size_t bytes) const {
  if (bytes > limits_.value_bytes || live_bytes_ > limits_.value_bytes - bytes) {
    fault(JinjaErrorKind::limit,
          fmt::format("the template's values need more than {} bytes", limits_.value_bytes));
  }
}

void Heap::check_output(std::size_t bytes) const {
  if (bytes > limits_.output_bytes) {
    fault(JinjaErrorKind::limit,
          fmt::format("the output is longer than {} bytes", limits_.output_bytes));
  }
}

void Heap::spend(std::uint64_t steps) {
  steps_ += steps;
  if (steps_ > limits_.steps) {
    fault(JinjaErrorKind::limit,
          fmt::format("the template took more than {} steps", limits_.steps));
  }
}

void Heap::enter() {
  if (depth_ >= limits_.depth) {
    fault(JinjaErrorKind::limit,
          fmt::format("the template went deeper than {} nested evaluations", limits_.depth));
  }
  ++depth_;
}

Value Heap::text(Text text) {
  const std::size_t bytes = text.size() + text.input().size() * sizeof(Span) + kBlockBytes;
  work(bytes);
  Charge charge(*this, bytes);
  return Value(std::make_shared<const TextData>(TextData{std::move(text), std::move(charge)}));
}

std::shared_ptr<ListData> Heap::make_list(std::vector<Value> items, ListKind kind) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  check_depth(depth + 1);
  const std::size_t bytes = items.size() * sizeof(Value) + kBlockBytes;
  work(bytes);
  Charge charge(*this, bytes);
  return std::make_shared<ListData>(
      ListData{kind, std::move(items), depth + 1, std::move(charge), {}});
}

Value Heap::list(std::vector<Value> items, ListKind kind) {
  return Value(ListPtr(make_list(std::move(items), kind)));
}

Value Heap::range(std::vector<Value> items, std::string shown) {
  auto made = make_list(std::move(items), ListKind::range);
  made->shown = std::move(shown);
  return Value(ListPtr(std::move(made)));
}

Value Heap::group(const Value& grouper, const Value& members) {
  auto made = make_list({grouper, members}, ListKind::tuple);
  made->is_group = true;
  return Value(ListPtr(std::move(made)));
}

Value Heap::dict(std::vector<DictData::Member> members) {
  const std::size_t bytes = members.size() * (sizeof(DictData::Member) + 32) + kBlockBytes;
  work(bytes);
  int depth = 0;
  Charge charge(*this, bytes);
  auto made = std::make_shared<DictData>(DictData{{}, {}, 1, std::move(charge)});
  const bool indexed = members.size() >= kIndexedMembers;
  made->members.reserve(members.size());
  for (auto& [key, value] : members) {
    check_hashable(key);
    depth = std::max({depth, key.depth(), value.depth()});
    if (!key.is_text()) spend(made->members.size() / 16);
    if (const Value* old = made->find(key); old != nullptr) {
      *const_cast<Value*>(old) = std::move(value);  // still ours alone
      continue;
    }
    made->members.emplace_back(std::move(key), std::move(value));
    if (indexed && made->members.back().first.is_text()) {
      made->text_index.emplace(made->members.back().first.bytes(), made->members.size() - 1);
    }
  }
  check_depth(depth + 1);
  made->depth = depth + 1;
  return Value(DictPtr(std::move(made)));
}

void Heap::register_object(Object& object, int depth, std::size_t bytes) {
  check_depth(depth);
  object.depth = depth;
  object.charge = Charge(*this, bytes + kBlockBytes);
}

}  // namespace linnet::jinja
