// What every rendering promises.
#pragma once

#include <vector>

#include "base/utf8.h"
#include "fuzz/target.h"
#include "text/jinja.h"

namespace linnet::fuzz {

// Far below what a server gives: an input must take milliseconds.
inline JinjaOptions small_jinja_options() {
  JinjaOptions options;
  options.now = CivilTime{2025, 7, 8, 9, 5, 3};
  options.limits.steps = 20'000;
  options.limits.value_bytes = 1u << 20;
  options.limits.output_bytes = 1u << 18;
  return options;
}

inline void check_spans(const std::vector<Span>& spans, const std::string& text) {
  std::size_t end = 0;
  for (const Span& span : spans) {
    expect(end <= span.begin && span.begin <= span.end && span.end <= text.size(),
           "spans are in order and inside of the text");
    end = span.end;
  }
}

inline void check_output(const JinjaOutput& output) {
  expect(!find_invalid_utf8(output.text), "rendered text is valid UTF-8");
  check_spans(output.input_spans, output.text);
}

}  // namespace linnet::fuzz
