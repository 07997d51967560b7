#include <memory>

#include "cli/command.h"
#include "cli/id_list.h"
#include "cli/open_model.h"
#include "cli/text_input.h"

namespace linnet {
namespace {

struct DetokenizeOptions {
  std::vector<std::string> ids;
  bool keep_special = false;
  bool clean_up_spaces = false;
};

int run_detokenize(CommandContext& context, const DetokenizeOptions& options) {
  std::string text;
  for (const std::string& id : options.ids) text += id + " ";
  const bool given = !options.ids.empty();
  if (!given) text = argument_or_input(std::nullopt, context.terminal(), "a token id");
  const std::vector<TokenId> ids = parse_ids(text, given ? "ID" : "standard input");
  const ModelFiles files =
      open_model_files(chosen_model(context.globals), open_options(context.globals));
  const auto tokenizer = files.load_tokenizer();
  const DecodeOptions decode{.skip_special = !options.keep_special,
                             .clean_up_spaces = options.clean_up_spaces};
  context.out.foreign(tokenizer->decode(ids, decode));
  context.out.write("\n");
  return 0;
}

}  // namespace

Command make_detokenize_command() {
  auto options = std::make_shared<DetokenizeOptions>();
  Command command;
  command.name = "detokenize";
  command.summary = "Print the text of token ids";
  command.details =
      "The ids are the arguments or, without any, standard input. A newline follows the text.";
  command.examples = {"linnet detokenize --model tiny 2361 1219 637",
                      "linnet tokenize hello | linnet detokenize"};
  command.argument =
      Argument{.name = "ID", .help = "token ids", .many = true, .set = to_list(options->ids)};
  command.options = {{.name = "keep-special",
                      .help = "print special tokens too",
                      .set = to_flag(options->keep_special)},
                     {.name = "clean-up-spaces",
                      .help = "take spaces before punctuation and contractions out",
                      .set = to_flag(options->clean_up_spaces)}};
  command.run = [options](CommandContext& context) { return run_detokenize(context, *options); };
  return command;
}

}  // namespace linnet
