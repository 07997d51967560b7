#include "golden_runner/suite.h"

namespace golden {

// Each is defined in a file of its own; asked in this order.
extern const Suite kChatSuite;
extern const Suite kJinjaSuite;
extern const Suite kWildTemplatesSuite;
extern const Suite kNf4Suite;
extern const Suite kModelsSuite;
extern const Suite kCorruptSuite;
extern const Suite kTokenizerSuite;
extern const Suite kStreamSuite;
extern const Suite kTranscriptSuite;
extern const Suite kOutputSuite;
extern const Suite kRouterSuite;

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {
      // By the folder's name, so before those that look for files.
      kTokenizerSuite, kStreamSuite,  kChatSuite,          kJinjaSuite,
      kOutputSuite,    kRouterSuite,  kWildTemplatesSuite, kNf4Suite,
      kModelsSuite,    kCorruptSuite, kTranscriptSuite,
  };
  return all;
}

}  // namespace golden
