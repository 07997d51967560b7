// Generated texts to measure with: the same on every machine, and in the things that matter to a
// tokenizer (lengths of words and clauses, how often words come again, punctuation) like the real.
#pragma once

#include <string>
#include <vector>

namespace linnet {

struct BenchText {
  std::string name;
  std::string text;
};

// "english-like", "chinese-like" and "code-like", of about `bytes` each.
std::vector<BenchText> generated_texts(std::size_t bytes);

}  // namespace linnet
