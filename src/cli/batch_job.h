// One line of a batch: the request in it, and the record of its answers or of its fault. A line is
// {"id", "prompt" | "messages" | "ids", ...} with fields of sampling and of the method of search
// beside them, or OpenAI's {"custom_id", "method", "url", "body": {...}}; its record has the shape
// of the line. A record depends on the line, its number and the settings, and on nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/chat_prompt.h"
#include "cli/method_options.h"
#include "engine/assistant.h"

namespace linnet {

// What all lines have in common, where a line does not say otherwise.
struct BatchSettings {
  const Assistant* assistant = nullptr;
  std::string model;  // its name, for records
  GenerationConfig config;
  MethodOptions method;
  PromptSettings prompt;
  std::string system;  // for lines with a prompt
  bool raw = false;    // prompts go without the chat template
  std::uint64_t seed = 0;
  std::vector<std::size_t> pad_to;  // lengths that prompts count as padded to; empty: no padding
  std::string other;                // whatever else the answers depend on, as a text

  // All of it as a number, to tell answers of other settings from these.
  std::uint64_t checksum() const;
};

class BatchJob {
 public:
  // Looks no further into the line than for its id.
  BatchJob(const BatchSettings& settings, std::uint64_t settings_checksum, std::int64_t number,
           std::string line);
  BatchJob(const BatchJob&) = delete;
  BatchJob& operator=(const BatchJob&) = delete;

  std::int64_t number() const { return number_; }
  std::size_t bytes() const { return line_.size() + 1; }
  const std::string& id() const { return id_; }  // as JSON; empty: none
  std::uint64_t checksum() const { return checksum_; }

  // Without callbacks but on_token, which fills the job. Error for whatever is wrong in the line.
  Request make_request();
  // Sequences that it may have at a time.
  std::int64_t sequences() const { return sequences_; }

  std::string record(RequestResult result);
  std::string record(const Error& error) const;

 private:
  Json fields() const;
  void read_prompt(const Json& fields, Request& request);
  PromptSettings prompt_settings(const Json& fields) const;
  Json head() const;
  Json native_answers(const std::vector<Answer>& answers, std::int64_t padding) const;
  Json completion(const std::vector<Answer>& answers) const;
  std::int64_t padding_of(std::size_t tokens) const;

  const BatchSettings& settings_;
  const std::int64_t number_;
  const std::string line_;
  std::uint64_t checksum_;
  Json json_;
  std::optional<Error> fault_;  // the line is no JSON object
  bool is_openai_ = false;
  std::string id_;
  std::int64_t sequences_ = 1;
  std::optional<OutputParserOptions> parser_;
  std::vector<AnswerReader> readers_;
};

}  // namespace linnet
