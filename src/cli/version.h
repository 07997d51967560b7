#pragma once

namespace linnet {

// The same as in CMakeLists.txt (a test compares them).
inline constexpr const char* kVersion = "0.1.0";

}  // namespace linnet
