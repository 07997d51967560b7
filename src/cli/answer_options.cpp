#include "cli/answer_options.h"

#include "text/message_list.h"

namespace linnet {

Option tool_tags_option(std::string& target) {
  const std::vector<std::string> words(kToolTagWords.begin(), kToolTagWords.end());
  return {.name = "tool-tags",
          .value = "TAGS",
          .help = "tags that hold calls, <tool_call> (xml, default) or <code> (python)",
          .choices = words,
          .set = to_choice(target, words)};
}

std::vector<Option> answer_option_table(AnswerOptions& target) {
  return {
      {.name = "system",
       .value = "TEXT",
       .help = "instructions for the model",
       .set = to_text(target.system)},
      {.name = "think",
       .help = "let the model think before it answers, or not (default: as its template says)",
       .negation = "no-think",
       .set = to_flag(target.think)},
      {.name = "show-thinking",
       .help = "show the thoughts dimmed, or hide them (default: shown on a terminal)",
       .negation = "hide-thinking",
       .set = to_flag(target.show_thinking)},
      {.name = "tools",
       .value = "FILE",
       .help = "JSON array of descriptions of tools that the model may call; calls are shown, not "
               "made",
       .is_path = true,
       .set = to_path(target.tools)},
      tool_tags_option(target.tool_tags),
      {.name = "close-system-turn",
       .help = "end a system turn that the template leaves open (SmolLM3's does without tools)",
       .set = to_flag(target.close_system_turn)},
  };
}

Json read_tools(const std::optional<std::string>& path) {
  if (!path) return Json();
  Json tools = Json::parse_file(*path);
  check_tools(tools, *path);
  return tools;
}

}  // namespace linnet
