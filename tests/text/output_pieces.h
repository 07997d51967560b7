// Output cut into pieces and parsed, for the tests of the output parser.
#pragma once

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/output_parser.h"

namespace pieces {

using namespace linnet;

// One line for a result: reasoning|content|name(arguments)...|error|finish, "-" for nothing.
inline std::string shown(const ParsedOutput& output) {
  std::string line = output.reasoning.value_or("-") + "|" + output.content.value_or("-") + "|";
  for (const ToolCall& call : output.tool_calls) line += call.name + "(" + call.arguments + ")";
  return line + (output.parse_error ? "|error|" : "||") + output.finish;
}

inline void join(const std::vector<OutputDelta>& deltas, ParsedOutput& joined) {
  for (const OutputDelta& delta : deltas) {
    if (delta.kind == OutputKind::tool_call) {
      joined.tool_calls.push_back(delta.call);
      continue;
    }
    if (delta.text.empty()) FAIL_CHECK("an empty delta");
    auto& text = delta.kind == OutputKind::content ? joined.content : joined.reasoning;
    if (!text) text.emplace();
    *text += delta.text;
  }
}

// Parses pieces that end before each offset of `cuts`; checks that joined deltas are the result.
inline std::string parsed(std::string_view text, const std::vector<std::size_t>& cuts,
                          OutputParserOptions options, OutputEnd end = OutputEnd::stop) {
  OutputParser parser(options);
  ParsedOutput joined;
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    join(parser.push(text.substr(begin, cut - begin)), joined);
    begin = cut;
  }
  join(parser.push(text.substr(begin)), joined);
  join(parser.finish(end), joined);
  const ParsedOutput& result = parser.result();
  CHECK(joined.reasoning.value_or("") == result.reasoning.value_or(""));
  CHECK(joined.content.value_or("") == result.content.value_or(""));
  CHECK(joined.tool_calls == result.tool_calls);
  return shown(result);
}

inline std::vector<std::size_t> each_byte(std::string_view text) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < text.size(); ++i) cuts.push_back(i);
  return cuts;
}

// The result for the whole text, after checking that every cut in two and single bytes give it.
inline std::string at_every_cut(std::string_view text, OutputParserOptions options,
                                OutputEnd end = OutputEnd::stop) {
  const std::string whole = parsed(text, {}, options, end);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    CHECK(parsed(text, {cut}, options, end) == whole);
  }
  CHECK(parsed(text, each_byte(text), options, end) == whole);
  return whole;
}

}  // namespace pieces
