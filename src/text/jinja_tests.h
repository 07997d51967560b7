// The tests behind `is`: Jinja's own.
#pragma once

#include <string_view>

#include "text/jinja_runtime.h"

namespace linnet::jinja {

struct Test {
  std::string_view name;
  bool (*call)(Runtime& runtime, const Value& value, const Args& args);
};

const Test* find_test(std::string_view name);

}  // namespace linnet::jinja
