#include "text/jinja_context.h"

namespace linnet::jinja {
namespace {

Text input_text(const std::string& bytes, const HostSpans& host_spans) {
  Text text = Text::from_input(bytes);
  const auto vouched = host_spans.find(&bytes);
  if (vouched == host_spans.end()) return text;
  Text mixed;
  std::size_t at = 0;
  for (const Span& span : vouched->second) {
    LINNET_CHECK(at <= span.begin && span.begin <= span.end && span.end <= bytes.size());
    mixed.append(text, at, span.begin);
    mixed.append(std::string_view(bytes).substr(span.begin, span.end - span.begin));
    at = span.end;
  }
  mixed.append(text, at, bytes.size());
  return mixed;
}

// As JSON writes it: a minus perhaps, then digits, no more than Integer holds.
Value large_integer(std::string_view digits) {
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  const auto magnitude = Integer::parse(digits, 10);
  LINNET_CHECK(magnitude.has_value());
  return Value(negative ? magnitude->negated() : *magnitude);
}

}  // namespace

Value value_of(Heap& heap, const Json& json, const HostSpans& host_spans) {
  if (json.is_null()) return Value();
  if (json.is_bool()) return Value(json.as_bool());
  if (json.is_int()) return Value(json.as_int());
  if (json.is_large_int()) return large_integer(json.large_digits());
  if (json.is_double()) return Value(json.as_double());
  if (json.is_string()) return heap.text(input_text(json.as_string(), host_spans));
  const Heap::Level level(heap);
  if (json.is_array()) {
    std::vector<Value> items;
    items.reserve(json.size());
    for (const Json& item : json.as_array()) items.push_back(value_of(heap, item, host_spans));
    return heap.list(std::move(items));
  }
  std::vector<DictData::Member> members;
  members.reserve(json.size());
  for (const auto& [key, value] : json.as_object()) {
    Value name = heap.text(Text::from_input(key));
    members.emplace_back(std::move(name), value_of(heap, value, host_spans));
  }
  return heap.dict(std::move(members));
}

}  // namespace linnet::jinja
