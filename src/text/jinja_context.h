// The host's JSON as values of a template; every text in it counts as input, except for the bytes
// that the host vouches for.
#pragma once

#include "base/json.h"
#include "text/jinja_heap.h"

namespace linnet::jinja {

using HostSpans = std::unordered_map<const std::string*, std::vector<Span>>;
Value value_of(Heap& heap, const Json& json, const HostSpans& host_spans);

}  // namespace linnet::jinja
