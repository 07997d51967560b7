// A model's output: every way to cut it gives the same result, the deltas joined are the result,
// and what is called a call has JSON arguments. The first byte chooses the options.
#include "base/json.h"
#include "base/utf8.h"
#include "fuzz/target.h"
#include "text/answer.h"
#include "text/output_ids.h"
#include "text/toy_tokenizer.h"

namespace {

using namespace linnet;

struct Variant {
  OutputParserOptions options;
  OutputEnd end = OutputEnd::stop;
};

bool same(const ParsedOutput& a, const ParsedOutput& b) {
  return a.reasoning == b.reasoning && a.content == b.content && a.tool_calls == b.tool_calls &&
         a.parse_error == b.parse_error && a.finish == b.finish;
}

void join(const std::vector<OutputDelta>& deltas, ParsedOutput& joined) {
  for (const OutputDelta& delta : deltas) {
    if (delta.kind == OutputKind::tool_call) {
      joined.tool_calls.push_back(delta.call);
      continue;
    }
    fuzz::expect(!delta.text.empty(), "no delta is empty");
    fuzz::expect(!find_invalid_utf8(delta.text), "deltas are whole characters");
    auto& text = delta.kind == OutputKind::content ? joined.content : joined.reasoning;
    text = text.value_or("") + delta.text;
  }
}

// Pieces end before each of `cuts`.
ParsedOutput parsed(std::string_view text, const std::vector<std::size_t>& cuts,
                    const Variant& variant) {
  OutputParser parser(variant.options);
  ParsedOutput joined;
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    join(parser.push(text.substr(begin, cut - begin)), joined);
    begin = cut;
  }
  join(parser.push(text.substr(begin)), joined);
  join(parser.finish(variant.end), joined);
  const ParsedOutput& result = parser.result();
  fuzz::expect(joined.reasoning.value_or("") == result.reasoning.value_or("") &&
                   joined.content.value_or("") == result.content.value_or("") &&
                   joined.tool_calls == result.tool_calls,
               "the deltas joined are the result");
  return result;
}

// Cuts lie between characters, as a decoder gives them.
std::vector<std::size_t> character_cuts(std::string_view text) {
  std::vector<std::size_t> cuts;
  for (std::size_t at = 0; at < text.size();) {
    at += decode_utf8(text.substr(at)).length;
    if (at < text.size()) cuts.push_back(at);
  }
  return cuts;
}

void check_ids(std::string_view text, const Variant& variant, const ParsedOutput& whole) {
  static const Tokenizer bytes(toy::ToyVocabulary().data);
  OutputIdParser parser(bytes, variant.options);
  for (const char byte : text) parser.push(static_cast<unsigned char>(byte));
  parser.finish(variant.end);
  fuzz::expect(same(parser.result(), whole), "ids give what their text gives");
}

void check_calls(const ParsedOutput& output) {
  for (const ToolCall& call : output.tool_calls) {
    fuzz::expect(!call.name.empty(), "a call has a name");
    // Depth and doubled keys are a matter of Json, not of the syntax.
    std::size_t at = 0;
    fuzz::expect(call.arguments.starts_with('{') && scan_json_value(call.arguments, at) &&
                     at == call.arguments.size(),
                 "the arguments are a JSON object");
  }
}

void check_answer(std::string_view text) {
  const RouterAnswer answer = extract_answer(text);
  fuzz::expect(answer.confidence >= 0 && answer.confidence <= 1, "confidence is in 0 to 1");
  fuzz::expect(answer.ok() || (answer.escalate && answer.category == "general"),
               "a faulty answer goes to a person");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  const unsigned choice = fuzz::take_byte(input);
  Variant variant;
  variant.options.tools = static_cast<ToolTags>(choice % 4);
  variant.options.starts_in_reasoning = (choice & 4) != 0;
  variant.end = (choice & 8) != 0 ? OutputEnd::length : OutputEnd::stop;
  const std::string text = repair_utf8(input);
  const ParsedOutput whole = parsed(text, {}, variant);
  check_calls(whole);
  check_ids(text, variant, whole);
  const std::vector<std::size_t> cuts = character_cuts(text);
  fuzz::expect(same(parsed(text, cuts, variant), whole), "single characters give the result");
  // All cuts in two of a short text, some of a long one.
  const std::size_t step = cuts.size() / 256 + 1;
  for (std::size_t i = choice % step; i < cuts.size(); i += step) {
    fuzz::expect(same(parsed(text, {cuts[i]}, variant), whole), "every cut gives the result");
  }
  check_answer(text);
  return 0;
}
