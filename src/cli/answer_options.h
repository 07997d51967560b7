// The options that `run` and `chat` share: what goes into a prompt beside the messages, and how the
// answer is read and shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/command.h"
#include "text/output_parser.h"

namespace linnet {

struct AnswerOptions {
  std::string system;
  std::optional<bool> think;  // none: as the template decides
  std::optional<bool> show_thinking;
  std::optional<std::string> tools;  // path of a JSON array
  std::string tool_tags = "xml";
  bool close_system_turn = false;
};

// --system, --think, ... The options write to `target`.
std::vector<Option> answer_option_table(AnswerOptions& target);
// --tool-tags alone, also an option of `parse`.
Option tool_tags_option(std::string& target);

// The array of --tools, or null.
Json read_tools(const std::optional<std::string>& path);

}  // namespace linnet
