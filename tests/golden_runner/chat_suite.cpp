// Folder "chat": rendered prompts (smollm3_cases), training masks (smollm3_masks) and control-token
// text inside of messages (smollm3_injection). Where the published template is not on this machine,
// the tiny model's own one stands in: it must write the same prompts.
#include "text/chat.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "base/file_map.h"
#include "golden_runner/jinja_case.h"
#include "golden_runner/suite.h"
#include "golden_runner/tokenizer_files.h"
#include "text/chat_encode.h"
#include "text/tokenizer_json.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;
using linnet::TokenId;
using linnet::Tokenizer;

constexpr linnet::CivilTime kClock{2025, 7, 8, 9, 5, 3};

bool accepts_chat(const fs::path& folder) { return fs::exists(folder / "smollm3_cases.jsonl"); }

std::string find_template(const fs::path& folder) {
  for (const char* name :
       {"data/smollm3_chat_template.jinja", "models/tiny-smollm3-chat/chat_template.jinja"}) {
    const fs::path path = find_shared(folder, name);
    if (!path.empty()) return linnet::read_text_file(path.string());
  }
  return {};
}

// What apply_chat_template passes: no tools and no documents unless they are given.
Json variables_of(const Json& inputs) {
  Json variables = Json::object();
  variables.set("tools", Json());
  variables.set("documents", Json());
  for (const auto& [key, value] : inputs.as_object()) variables.set(key, value);
  return variables;
}

// apply_chat_template drops members of messages that are null.
Json without_nulls(const Json& messages) {
  Json out = Json::array();
  for (const Json& message : messages.as_array()) {
    Json kept = Json::object();
    for (const auto& [key, value] : message.as_object()) {
      if (!value.is_null()) kept.set(key, value);
    }
    out.push_back(std::move(kept));
  }
  return out;
}

// The ranges of tokens that overlap a marked part of the text.
std::vector<linnet::Span> token_spans(const linnet::Encoding& encoding,
                                      const std::vector<linnet::Span>& marked) {
  std::vector<linnet::Span> out;
  for (const linnet::Span& mark : marked) {
    linnet::Span tokens{encoding.ids.size(), 0};
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
      if (encoding.spans[i].begin >= mark.end || encoding.spans[i].end <= mark.begin) continue;
      tokens.begin = std::min(tokens.begin, i);
      tokens.end = i + 1;
    }
    if (tokens.begin >= tokens.end) continue;
    if (!out.empty() && out.back().end == tokens.begin) {
      out.back().end = tokens.end;
    } else {
      out.push_back(tokens);
    }
  }
  return out;
}

std::string check_mask(const Json& row, const linnet::JinjaTemplate& chat,
                       const Tokenizer& tokenizer) {
  Json variables = variables_of(row.at("inputs"));
  variables.set("messages", without_nulls(variables.at("messages")));
  linnet::JinjaOptions options;
  options.now = kClock;
  const linnet::JinjaOutput output = chat.render(variables, options);
  const linnet::Encoding encoding = tokenizer.encode_with_offsets(output.text);
  const std::vector<TokenId> ids = ids_of(row.at("ids"));
  if (encoding.ids != ids) return difference(ids, encoding.ids);
  std::vector<linnet::Span> wanted;
  for (const Json& span : row.at("mask_spans").as_array()) {
    wanted.push_back({static_cast<std::size_t>(span.as_array()[0].as_int()),
                      static_cast<std::size_t>(span.as_array()[1].as_int())});
  }
  const auto found = token_spans(encoding, output.generation_spans);
  if (found != wanted)
    return fmt::format("{} spans instead of {}, or others", found.size(), wanted.size());
  return {};
}

std::string check_injection(const Json& row, const linnet::ChatTemplate& chat,
                            const Tokenizer& tokenizer) {
  linnet::ChatOptions options;
  options.now = kClock;
  const linnet::Prompt prompt = chat.render(row.at("messages"), Json(), options);
  if (prompt.text != row.at("prompt").as_string()) {
    return difference(prompt.text, row.at("prompt").as_string());
  }
  const std::vector<TokenId> parsed = ids_of(row.at("ids_parsed"));
  const std::vector<TokenId> trusted = linnet::encode_prompt(tokenizer, prompt, true);
  if (trusted != parsed) return "parsed: " + difference(parsed, trusted);
  const std::vector<TokenId> sanitized = ids_of(row.at("ids_sanitized"));
  const std::vector<TokenId> safe = linnet::encode_prompt(tokenizer, prompt, false);
  if (safe != sanitized) return "sanitized: " + difference(sanitized, safe);
  return {};
}

// One case per line of `file`; `check` returns what is wrong, or nothing.
void run_lines(const fs::path& file, Report& report, const std::string& kind,
               const std::function<std::string(const Json&)>& check) {
  if (!fs::exists(file)) return;
  int line = 0;
  for_each_json_line(file, [&](const Json& row) {
    const Json* name = row.find("name");
    const std::string called =
        fmt::format("{} {}", kind, name != nullptr ? name->as_string() : std::to_string(line));
    ++line;
    std::string wrong;
    try {
      wrong = check(row);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (wrong.empty()) {
      report.pass(called);
    } else {
      report.fail(called, wrong);
    }
  });
}

void run_chat(const fs::path& folder, Report& report) {
  const std::string source = find_template(folder);
  if (source.empty())
    return report.skip("all", "no chat template of SmolLM3's kind on this machine");
  for_each_json_line(folder / "smollm3_cases.jsonl", [&](const Json& row) {
    check_render("case " + row.at("name").as_string(), row, source, variables_of(row.at("inputs")),
                 report);
  });
  const fs::path tokenizer_file = find_shared(folder, "data/smollm3_tokenizer/tokenizer.json");
  if (tokenizer_file.empty()) {
    report.skip("masks", "SmolLM3's tokenizer.json is not on this machine");
    report.skip("injection", "SmolLM3's tokenizer.json is not on this machine");
    return;
  }
  const auto tokenizer = linnet::load_tokenizer_json(tokenizer_file);
  const auto jinja = linnet::JinjaTemplate::parse(source, "template");
  const linnet::ChatTemplate chat(source, "template");
  run_lines(folder / "smollm3_masks.jsonl", report, "mask",
            [&](const Json& row) { return check_mask(row, jinja, *tokenizer); });
  run_lines(folder / "smollm3_injection.jsonl", report, "injection",
            [&](const Json& row) { return check_injection(row, chat, *tokenizer); });
}

}  // namespace

extern const Suite kChatSuite;
const Suite kChatSuite = {"chat", accepts_chat, run_chat};

}  // namespace golden
