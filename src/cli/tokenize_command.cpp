#include <fmt/core.h>

#include <memory>

#include "base/utf8.h"
#include "cli/command.h"
#include "cli/open_model.h"
#include "cli/text_input.h"
#include "cli/token_record.h"
#include "cli/tokenize_lines.h"

namespace linnet {
namespace {

struct TokenizeOptions {
  std::optional<std::string> text;
  bool pieces = false;
  bool offsets = false;
  bool count = false;
  bool no_special = false;
  bool json = false;
  bool jsonl = false;
};

// A piece in quotes on one line; a piece that is half a character shows its bytes.
std::string piece_text(std::string_view bytes) {
  if (!find_invalid_utf8(bytes)) return json_quote(bytes);
  std::string text;
  for (const char c : bytes) text += fmt::format("<{:02X}>", static_cast<unsigned char>(c));
  return text;
}

void print_lines(Output& out, const Encoding& encoding, const Tokenizer& tokenizer,
                 const TokenizeOptions& options) {
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    out.write(fmt::format("{}", encoding.ids[i]));
    if (options.offsets) {
      out.write(fmt::format("\t{}\t{}", encoding.spans[i].begin, encoding.spans[i].end));
    }
    if (options.pieces) out.foreign("\t" + piece_text(tokenizer.token_bytes(encoding.ids[i])));
    out.write("\n");
  }
}

void print_ids(Output& out, const std::vector<TokenId>& ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    out.write(fmt::format("{}{}", i > 0 ? " " : "", ids[i]));
  }
  out.write("\n");
}

int run_tokenize(CommandContext& context, const TokenizeOptions& options) {
  std::string text;
  if (!options.jsonl) text = argument_or_input(options.text, context.terminal(), "the text");
  const ModelFiles files =
      open_model_files(chosen_model(context.globals), open_options(context.globals));
  const auto tokenizer = files.load_tokenizer();
  EncodeOptions encode;
  encode.parsing = options.no_special ? SpecialParsing::none : SpecialParsing::all;
  const TokenRecordParts parts{!options.count, options.pieces, options.offsets};
  if (options.jsonl) return tokenize_lines(context, *tokenizer, {options.text, encode, parts});
  const Encoding encoding = tokenizer->encode_with_offsets(text, encode);
  if (options.json) {
    context.out.foreign(token_record(encoding, *tokenizer, parts) + "\n");
  } else if (options.count) {
    context.out.line(fmt::format("{}", encoding.ids.size()));
  } else if (options.pieces || options.offsets) {
    print_lines(context.out, encoding, *tokenizer, options);
  } else {
    print_ids(context.out, encoding.ids);
  }
  return 0;
}

}  // namespace

Command make_tokenize_command() {
  auto options = std::make_shared<TokenizeOptions>();
  Command command;
  command.name = "tokenize";
  command.summary = "Print the token ids of a text";
  command.details =
      "The text is the argument or, without one, standard input up to its end (but for one newline "
      "there). With --offsets or --pieces each token has its line: id, first byte, byte behind the "
      "last, piece, with tabs between. Bytes are counted in the UTF-8 text.\n"
      "With --jsonl the argument is a file (standard input without one, or for -) with a JSON "
      "text, "
      "or an object with the field \"text\", on each line. Each line gives the record that --json "
      "prints. A line that is not like that, or over 64 MiB, gives {\"line\", \"error\"}, and the "
      "exit status is 1 at the end. Files may be of any length.";
  command.examples = {"linnet tokenize \"Hello world\"", "linnet tokenize --count < README.md",
                      "linnet tokenize --pieces --offsets \"naïve\"",
                      "linnet tokenize --jsonl rows.jsonl > ids.jsonl"};
  command.argument = Argument{
      .name = "TEXT", .help = "the text; with --jsonl a file", .set = to_text(options->text)};
  command.options = {
      {.name = "pieces", .help = "print each token's text", .set = to_flag(options->pieces)},
      {.name = "offsets", .help = "print each token's bytes", .set = to_flag(options->offsets)},
      {.name = "count", .help = "print the number of tokens only", .set = to_flag(options->count)},
      {.name = "no-special",
       .help = "take control tokens such as <|im_end|> in the text as plain text",
       .set = to_flag(options->no_special)},
      {.name = "json", .help = "print a JSON record", .set = to_flag(options->json)},
      {.name = "jsonl",
       .help = "read a JSON text or {\"text\": ...} on each line, print a record for each",
       .set = to_flag(options->jsonl)},
  };
  command.run = [options](CommandContext& context) { return run_tokenize(context, *options); };
  return command;
}

}  // namespace linnet
