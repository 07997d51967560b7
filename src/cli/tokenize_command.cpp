#include <fmt/core.h>

#include <memory>

#include "base/utf8.h"
#include "cli/command.h"
#include "cli/open_model.h"
#include "cli/text_input.h"

namespace linnet {
namespace {

struct TokenizeOptions {
  std::optional<std::string> text;
  bool pieces = false;
  bool offsets = false;
  bool count = false;
  bool no_special = false;
  bool json = false;
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

Json tokens_json(const Encoding& encoding, const Tokenizer& tokenizer,
                 const TokenizeOptions& options) {
  Json ids = Json::array();
  Json pieces = Json::array();
  Json spans = Json::array();
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    ids.push_back(encoding.ids[i]);
    pieces.push_back(repair_utf8(tokenizer.token_bytes(encoding.ids[i])));
    spans.push_back(Json(Json::Array{Json(encoding.spans[i].begin), Json(encoding.spans[i].end)}));
  }
  Json json = Json::object();
  json.set("count", encoding.ids.size());
  json.set("ids", std::move(ids));
  if (options.pieces) json.set("pieces", std::move(pieces));
  if (options.offsets) json.set("offsets", std::move(spans));
  return json;
}

int run_tokenize(CommandContext& context, const TokenizeOptions& options) {
  const std::string text = argument_or_input(options.text, context.terminal(), "the text");
  const ModelFiles files =
      open_model_files(chosen_model(context.globals), open_options(context.globals));
  const auto tokenizer = files.load_tokenizer();
  EncodeOptions encode;
  encode.parsing = options.no_special ? SpecialParsing::none : SpecialParsing::all;
  const Encoding encoding = tokenizer->encode_with_offsets(text, encode);
  if (options.json) {
    context.out.line(tokens_json(encoding, *tokenizer, options).dump());
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
      "last, piece, with tabs between. Bytes are counted in the UTF-8 text.";
  command.examples = {"linnet tokenize \"Hello world\"", "linnet tokenize --count < README.md",
                      "linnet tokenize --pieces --offsets \"naïve\""};
  command.argument = Argument{.name = "TEXT", .help = "the text", .set = to_text(options->text)};
  command.options = {
      {.name = "pieces", .help = "print each token's text", .set = to_flag(options->pieces)},
      {.name = "offsets", .help = "print each token's bytes", .set = to_flag(options->offsets)},
      {.name = "count", .help = "print the number of tokens only", .set = to_flag(options->count)},
      {.name = "no-special",
       .help = "take control tokens such as <|im_end|> in the text as plain text",
       .set = to_flag(options->no_special)},
      {.name = "json", .help = "print a JSON record", .set = to_flag(options->json)},
  };
  command.run = [options](CommandContext& context) { return run_tokenize(context, *options); };
  return command;
}

}  // namespace linnet
