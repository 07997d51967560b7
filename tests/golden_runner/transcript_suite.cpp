// Folders of a chat model with expected.json: greedy transcripts made by the reference.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/assistant.h"
#include "engine/generator.h"
#include "engine/log_probabilities.h"
#include "golden_runner/sampling_suite.h"
#include "golden_runner/suite.h"
#include "text/chat_encode.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;
using linnet::TokenId;
using Ids = std::vector<TokenId>;

constexpr linnet::CivilTime kDate = {2025, 7, 8, 12, 0, 0};  // "08 July 2025" in expected.json
constexpr float kTolerance = 1e-3f;                          // of log-probabilities

Ids ids_of(const Json& list) {
  Ids ids;
  for (const Json& id : list.as_array()) ids.push_back(static_cast<TokenId>(id.as_int()));
  return ids;
}

std::optional<linnet::ChatTemplate> template_of(const fs::path& folder,
                                                const linnet::Assistant& assistant) {
  if (assistant.has_own_template) return assistant.chat_template;
  const fs::path path = find_shared(folder, "models/tiny-smollm3-chat/chat_template.jinja");
  if (path.empty()) return std::nullopt;
  return linnet::ChatTemplate(linnet::read_text_file(path), path.filename().string());
}

// One transcript.
class Transcript {
 public:
  Transcript(const Json& test_case, Report& report) : case_(test_case), report_(report) {}

  void check_prompt(const linnet::Tokenizer& tokenizer) {
    check_ids("prompt_ids", tokenizer.encode(case_.at("prompt").as_string("prompt")),
              ids_of(case_.at("prompt_ids")));
  }

  void check_messages(const linnet::Tokenizer& tokenizer,
                      const std::optional<linnet::ChatTemplate>& chat_template) {
    if (!chat_template) return report_.skip(name("messages"), "no chat template here");
    linnet::ChatOptions options;
    options.enable_thinking = case_.at("enable_thinking").as_bool("enable_thinking");
    options.now = kDate;
    options.extra = Json::object();
    if (!case_.at("xml_tools").is_null()) options.extra.set("xml_tools", case_.at("xml_tools"));
    const auto prompt = chat_template->render(case_.at("messages"), Json(), options);
    const std::string& expected = case_.at("prompt").as_string("prompt");
    verdict("messages", prompt.text == expected, "renders as " + linnet::json_quote(prompt.text));
    check_ids("messages_ids", linnet::encode_prompt(tokenizer, prompt, true),
              ids_of(case_.at("prompt_ids")));
  }

  void check_answer(linnet::Generator& generator, TokenId stop_id) {
    linnet::GenerationConfig config;
    config.stop_ids = {stop_id};
    config.max_new_tokens = 128;
    std::string streamed;
    linnet::GenerateOptions options;
    options.on_token = [&](const linnet::TokenEvent& event) { streamed += event.text; };
    const auto result = generator.generate(ids_of(case_.at("prompt_ids")), config, options);
    check_ids("output_ids", result.ids, ids_of(case_.at("output_ids")));
    const std::string& text = case_.at("output_text").as_string("output_text");
    verdict("output_text", result.text == text, "gives " + linnet::json_quote(result.text));
    verdict("streamed", streamed == text, "gives " + linnet::json_quote(streamed));
    const auto finish = linnet::finish_reason_name(result.finish);
    verdict("finish", finish == case_.at("finish").as_string("finish"),
            "ends by " + std::string(finish));
  }

  void check_log_probabilities(const linnet::Model& model) {
    const Json* expected = case_.find("logprobs");
    if (expected == nullptr) return;
    Ids sequence = ids_of(case_.at("prompt_ids"));
    const std::size_t first = sequence.size() - 1;
    const Ids output = ids_of(case_.at("output_ids"));
    sequence.insert(sequence.end(), output.begin(), output.end() - 1);
    const auto rows = sequence_logits(model, sequence, first);
    const auto vocab = static_cast<std::size_t>(model.program().vocab);
    double worst = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
      const auto logs =
          linnet::log_probabilities(std::span<const float>(rows).subspan(i * vocab, vocab));
      const Json& step = expected->as_array().at(i);
      const auto check = [&](const Json& id, const Json& value) {
        const auto got = logs.at(static_cast<std::size_t>(id.as_int()));
        worst = std::max(worst, std::fabs(got - value.as_double()));
      };
      check(step.at("id"), step.at("logprob"));
      for (const Json& pair : step.at("top5").as_array()) {
        check(pair.as_array().at(0), pair.as_array().at(1));
      }
    }
    verdict("logprobs", worst <= kTolerance, fmt::format("largest difference {}", worst));
  }

 private:
  std::string name(std::string_view part) const {
    return fmt::format("{}/{}", case_.at("id").as_string("id"), part);
  }

  void verdict(std::string_view part, bool holds, const std::string& detail) {
    holds ? report_.pass(name(part)) : report_.fail(name(part), detail);
  }

  void check_ids(std::string_view part, const Ids& got, const Ids& expected) {
    const auto parted = std::mismatch(got.begin(), got.end(), expected.begin(), expected.end());
    verdict(part, got == expected,
            fmt::format("{} ids instead of {}, different from index {}", got.size(),
                        expected.size(), parted.first - got.begin()));
  }

  const Json& case_;
  Report& report_;
};

bool accepts(const fs::path& folder) {
  return fs::exists(folder / "expected.json") && fs::exists(folder / "config.json");
}

void run(const fs::path& folder, Report& report) {
  const Json expected = Json::parse_file((folder / "expected.json").string());
  const auto stop_id = static_cast<TokenId>(expected.at("eos_token_id").as_int("eos_token_id"));
  const auto assistant = linnet::Assistant::load(folder, {}, load_options());
  const auto chat_template = template_of(folder, assistant);
  linnet::Generator generator(assistant.model, assistant.tokenizer);
  for (const Json& test_case : expected.at("cases").as_array("cases")) {
    Transcript transcript(test_case, report);
    transcript.check_prompt(*assistant.tokenizer);
    transcript.check_messages(*assistant.tokenizer, chat_template);
    transcript.check_answer(generator, stop_id);
    transcript.check_log_probabilities(*assistant.model);
  }
}

}  // namespace

extern const Suite kTranscriptSuite = {"transcripts", accepts, run};

}  // namespace golden
