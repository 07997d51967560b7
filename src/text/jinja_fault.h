// A fault inside the engine, before the template's name and the place in it are known. The
// interpreter turns it into a JinjaError. The names of these functions are Python's error classes.
#pragma once

#include <string>

#include "text/jinja.h"

namespace linnet::jinja {

struct Fault {
  JinjaErrorKind kind;
  std::string detail;
};

[[noreturn]] inline void fault(JinjaErrorKind kind, std::string detail) {
  throw Fault{kind, std::move(detail)};
}
[[noreturn]] inline void type_error(std::string detail) {
  fault(JinjaErrorKind::runtime, std::move(detail));
}
[[noreturn]] inline void value_error(std::string detail) {
  fault(JinjaErrorKind::runtime, std::move(detail));
}

}  // namespace linnet::jinja
