#include "golden_runner/suite.h"

namespace golden {

// Each is defined in a file of its own; asked in this order.
extern const Suite kModelsSuite;

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {
      kModelsSuite,
  };
  return all;
}

}  // namespace golden
