// The host's JSON as values of a template; every text in it counts as input.
#pragma once

#include "base/json.h"
#include "text/jinja_heap.h"

namespace linnet::jinja {

Value value_of(Heap& heap, const Json& json);

}  // namespace linnet::jinja
