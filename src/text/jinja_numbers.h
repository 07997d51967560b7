// int() and float() of Python: numbers out of texts and other numbers.
#pragma once

#include <optional>

#include "text/jinja_value.h"

namespace linnet::jinja {

// nullopt where Python raises ValueError or TypeError.
std::optional<Value> parse_whole(std::string_view text, int base);
std::optional<double> parse_real(std::string_view text);

}  // namespace linnet::jinja
