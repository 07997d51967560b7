// Folder "output": cases.jsonl, a model's output and what its parser makes of it: whole, at every
// cut in two, byte by byte, at random cuts, and by token ids. Joined deltas must be the result.
#include <fmt/core.h>

#include <random>

#include "base/error.h"
#include "golden_runner/suite.h"
#include "golden_runner/tokenizer_files.h"
#include "text/output_ids.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;
using linnet::OutputDelta;
using linnet::OutputEnd;
using linnet::OutputParser;
using linnet::OutputParserOptions;
using linnet::ParsedOutput;

constexpr int kRandomCuts = 20;

OutputParserOptions options_of(const Json& line) {
  OutputParserOptions options;
  options.starts_in_reasoning = line.at("start").as_string("start") == "reasoning";
  const auto tools = linnet::tool_tags_of(line.at("tools").as_string("tools"));
  if (!tools) linnet::fail(linnet::ErrorCode::corrupt_file, "no such tool tags");
  options.tools = *tools;
  return options;
}

OutputEnd end_of(const Json& line) {
  return line.at("finish").as_string("finish") == "length" ? OutputEnd::length : OutputEnd::stop;
}

Json optional_text(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

Json output_json(const ParsedOutput& output) {
  Json calls = Json::array();
  for (const linnet::ToolCall& call : output.tool_calls) {
    Json entry = Json::object();
    entry.set("name", call.name);
    entry.set("arguments", call.arguments);
    calls.push_back(std::move(entry));
  }
  Json json = Json::object();
  json.set("reasoning", optional_text(output.reasoning));
  json.set("content", optional_text(output.content));
  json.set("tool_calls", std::move(calls));
  json.set("parse_error", output.parse_error);
  json.set("finish", output.finish);
  return json;
}

// What the deltas amount to, compared with the result.
class Joined {
 public:
  void add(const std::vector<OutputDelta>& deltas) {
    for (const OutputDelta& delta : deltas) {
      if (delta.kind == linnet::OutputKind::tool_call) {
        calls_.push_back(delta.call);
      } else {
        (delta.kind == linnet::OutputKind::content ? content_ : reasoning_) += delta.text;
      }
    }
  }
  bool equals(const ParsedOutput& result) const {
    return reasoning_ == result.reasoning.value_or("") && content_ == result.content.value_or("") &&
           calls_ == result.tool_calls;
  }

 private:
  std::string reasoning_;
  std::string content_;
  std::vector<linnet::ToolCall> calls_;
};

class OutputCase {
 public:
  OutputCase(const Json& line, const linnet::Tokenizer* tokenizer)
      : line_(line), text_(line.at("text").as_string("text")), tokenizer_(tokenizer) {}

  // Empty, or what is wrong.
  std::string check() {
    check_pieces("whole", {text_});
    for (std::size_t cut = 1; cut < text_.size(); ++cut) {
      check_pieces(fmt::format("cut at {}", cut), {text_.substr(0, cut), text_.substr(cut)});
    }
    std::vector<std::string> bytes;
    for (const char c : text_) bytes.emplace_back(1, c);
    check_pieces("bytes", bytes);
    for (unsigned seed = 0; seed < kRandomCuts; ++seed) check_random(seed);
    for (const char* field : {"ids", "ids_plain"}) check_ids(field);
    return fault_;
  }

 private:
  void check_random(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text_.size(); at += pieces.back().size()) {
      pieces.push_back(text_.substr(at, 1 + random() % 9));
    }
    check_pieces(fmt::format("random cuts {}", seed), pieces);
  }

  void check_pieces(const std::string& way, const std::vector<std::string>& pieces) {
    OutputParser parser(options_of(line_));
    Joined joined;
    for (const std::string& piece : pieces) joined.add(parser.push(piece));
    joined.add(parser.finish(end_of(line_)));
    compare(way, parser.result(), joined);
  }

  void check_ids(const char* field) {
    if (tokenizer_ == nullptr || line_.find(field) == nullptr) return;
    linnet::OutputIdParser parser(*tokenizer_, options_of(line_));
    Joined joined;
    auto ids = ids_of(line_.at(field));
    // The end token that stopped the output.
    if (end_of(line_) == OutputEnd::stop && !ids.empty()) ids.pop_back();
    for (const auto id : ids) joined.add(parser.push(id));
    joined.add(parser.finish(end_of(line_)));
    compare(field, parser.result(), joined);
  }

  void compare(const std::string& way, const ParsedOutput& result, const Joined& joined) {
    const Json got = output_json(result);
    const Json& expected = line_.at("expected");
    if (!fault_.empty() || (got == expected && joined.equals(result))) return;
    fault_ = fmt::format("{} of {}: want {}, got {}{}", way, linnet::json_quote(text_),
                         expected.dump(), got.dump(),
                         joined.equals(result) ? "" : "; the deltas joined are not the result");
  }

  const Json& line_;
  const std::string& text_;
  const linnet::Tokenizer* tokenizer_;
  std::string fault_;
};

bool accepts(const fs::path& folder) {
  return folder.filename() == "output" && fs::exists(folder / "cases.jsonl");
}

void run(const fs::path& folder, Report& report) {
  const fs::path file = tokenizer_path(folder, "smollm3");
  const auto tokenizer = file.empty() ? nullptr : linnet::load_tokenizer_json(file);
  if (tokenizer == nullptr) {
    report.skip("ids", "the ids of the output cases need the published tokenizer file");
  }
  for_each_line(folder / "cases.jsonl", [&](int number, const Json& line) {
    const std::string name = fmt::format("{} {}", number, line.at("kind").as_string("kind"));
    const std::string fault = OutputCase(line, tokenizer.get()).check();
    fault.empty() ? report.pass(name) : report.fail(name, fault);
  });
}

}  // namespace

extern const Suite kOutputSuite;
const Suite kOutputSuite{"output", accepts, run};

}  // namespace golden
