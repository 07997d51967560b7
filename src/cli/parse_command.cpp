#include "cli/parse_command.h"

#include <algorithm>
#include <memory>

#include "base/file_map.h"
#include "cli/answer_options.h"
#include "cli/id_list.h"
#include "cli/open_model.h"
#include "cli/output_record.h"
#include "cli/text_input.h"
#include "text/output_ids.h"

namespace linnet {
namespace {

struct ParseOptions {
  std::optional<std::string> file;
  std::string tool_tags = "xml";
  bool ids = false;
  bool in_reasoning = false;
  bool cut_by_length = false;

  OutputParserOptions parser() const { return {in_reasoning, tool_tags_of(tool_tags).value()}; }
  OutputEnd end() const { return cut_by_length ? OutputEnd::length : OutputEnd::stop; }
};

std::string read_output(CommandContext& context, const ParseOptions& options) {
  if (!options.file || *options.file == "-") {
    const char* what = options.ids ? "a token id" : "the model's output";
    return argument_or_input(std::nullopt, context.terminal(), what);
  }
  std::string text = read_text_file(*options.file);
  require_utf8(text, *options.file);
  return text;
}

ParsedOutput parse_text(const std::string& text, const ParseOptions& options) {
  OutputParser parser(options.parser());
  parser.push(text);
  parser.finish(options.end());
  return parser.result();
}

ParsedOutput parse_ids_of(CommandContext& context, const std::string& text,
                          const ParseOptions& options) {
  const bool is_input = !options.file || *options.file == "-";
  std::vector<TokenId> ids = parse_ids(text, is_input ? "standard input" : *options.file);
  const ModelFiles files =
      open_model_files(chosen_model(context.globals), open_options(context.globals));
  const auto tokenizer = files.load_tokenizer();
  // The id that ended the output is no part of its text.
  const std::vector<TokenId> stops = find_stop_ids(
      files, ModelConfig::from_json(files.config, files.config_file), tokenizer.get());
  if (!ids.empty() && std::find(stops.begin(), stops.end(), ids.back()) != stops.end()) {
    ids.pop_back();
  }
  OutputIdParser parser(*tokenizer, options.parser());
  for (const TokenId id : ids) parser.push(id);
  parser.finish(options.end());
  return parser.result();
}

int run_parse(CommandContext& context, const ParseOptions& options) {
  const std::string text = read_output(context, options);
  const ParsedOutput output =
      options.ids ? parse_ids_of(context, text, options) : parse_text(text, options);
  context.out.line(output_json(output).dump());
  return 0;
}

}  // namespace

Command make_parse_command() {
  auto options = std::make_shared<ParseOptions>();
  Command command;
  command.name = "parse";
  command.summary = "Take a model's output apart: reasoning, content, tool calls";
  command.details =
      "The output is read from a file or, without one, from standard input up to its end (but for "
      "one newline there). The result is a JSON record on one line. Only --ids needs a model.";
  command.examples = {"linnet parse answer.txt",
                      "echo '<code>add(a=1, b=2)</code>' | linnet parse --tool-tags python",
                      "linnet tokenize \"<think>hm</think>Yes\" | linnet parse --ids"};
  command.argument = Argument{
      .name = "FILE", .help = "the output's file", .is_path = true, .set = to_path(options->file)};
  command.options = {
      tool_tags_option(options->tool_tags),
      {.name = "ids",
       .help = "the output is given as token ids of the model; an end token may close them",
       .set = to_flag(options->ids)},
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
