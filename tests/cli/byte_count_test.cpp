#include "cli/byte_count.h"

#include <doctest/doctest.h>

namespace linnet {

TEST_CASE("sizes as people write them") {
  CHECK(parse_byte_count("5GB") == 5'000'000'000);
  CHECK(parse_byte_count("2GiB") == std::uint64_t{2} << 30);
  CHECK(parse_byte_count("500mb") == 500'000'000);
  CHECK(parse_byte_count("4096") == 4096);
  CHECK(parse_byte_count("1B") == 1);
  CHECK(parse_byte_count("9223372036854775807") == 9223372036854775807u);
  for (const char* text : {"", "0", "0GB", "-1", "GB", "5 GB", "5XB", "1.5GB",
                           "9223372036854775808", "99999999TB", "18446744073709551616"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_byte_count(text), UsageError);
  }
}

}  // namespace linnet
