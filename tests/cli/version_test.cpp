#include "cli/version.h"

#include <doctest/doctest.h>

#include <string>

#include "base/file_map.h"

TEST_CASE("the version is that of the build") {
  const std::string build =
      linnet::read_text_file(std::string(LINNET_SOURCE_DIR) + "/CMakeLists.txt");
  CHECK(build.find(std::string("project(linnet VERSION ") + linnet::kVersion + " ") !=
        std::string::npos);
}
