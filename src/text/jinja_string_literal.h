// The escapes of a string literal in a template (Python's unicode-escape).
#pragma once

#include <string>
#include <string_view>

namespace linnet::jinja {

// Fault{syntax} for a broken escape; an unknown one stays as it is.
std::string unescape(std::string_view literal);

}  // namespace linnet::jinja
