#include "cli/parse_command.h"

#include <memory>

#include "base/file_map.h"
#include "cli/text_input.h"
#include "text/output_parser.h"

namespace linnet {
namespace {

struct ParseOptions {
  std::optional<std::string> file;
  std::string tools = "xml";
  bool in_reasoning = false;
  bool cut_by_length = false;
};

ToolTags tool_tags(const std::string& name) {
  if (name == "xml") return ToolTags::xml;
  if (name == "python") return ToolTags::python;
  return name == "both" ? ToolTags::both : ToolTags::none;
}

Json optional_text(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

Json output_json(const ParsedOutput& output) {
  Json calls = Json::array();
  for (const ToolCall& call : output.tool_calls) {
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

std::string read_output(CommandContext& context, const std::optional<std::string>& file) {
  if (!file || *file == "-") {
    return argument_or_input(std::nullopt, context.terminal(), "the model's output");
  }
  std::string text = read_text_file(*file);
  require_utf8(text, *file);
  return text;
}

int run_parse(CommandContext& context, const ParseOptions& options) {
  const std::string text = read_output(context, options.file);
  OutputParser parser({options.in_reasoning, tool_tags(options.tools)});
  parser.push(text);
  parser.finish(options.cut_by_length ? OutputEnd::length : OutputEnd::stop);
  context.out.line(output_json(parser.result()).dump());
  return 0;
}

}  // namespace

Command make_parse_command() {
  const std::vector<std::string> families = {"none", "xml", "python", "both"};
  auto options = std::make_shared<ParseOptions>();
  Command command;
  command.name = "parse";
  command.summary = "Take a model's output apart: reasoning, content, tool calls";
  command.details =
      "The output is read from a file or, without one, from standard input up to its end (but for "
      "one newline there). The result is a JSON record on one line.";
  command.examples = {"linnet parse answer.txt",
                      "echo '<code>add(a=1, b=2)</code>' | linnet parse --tool-tags python"};
  command.argument = Argument{
      .name = "FILE", .help = "the output's file", .is_path = true, .set = to_path(options->file)};
  command.options = {
      {.name = "tool-tags",
       .value = "TAGS",
       .help = "tags that hold calls, <tool_call> (xml, default) or <code> (python)",
       .choices = families,
       .set = to_choice(options->tools, families)},
      {.name = "in-reasoning",
       .help = "the prompt ends inside of an open <think>",
       .set = to_flag(options->in_reasoning)},
      {.name = "cut-by-length",
       .help = "the output was cut by the limit on its length",
       .set = to_flag(options->cut_by_length)},
  };
  command.run = [options](CommandContext& context) { return run_parse(context, *options); };
  return command;
}

}  // namespace linnet
