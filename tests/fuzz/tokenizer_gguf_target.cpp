// The tokenizer of a GGUF file, from its metadata. The input is lines: the name of the
// pre-tokenizer, a line of flags and special ids, then tokens ("3<|im_end|>": a type and a text)
// and merges ("m", then the two sides).
#include <charconv>

#include "fuzz/target.h"
#include "fuzz/tokenizer_promises.h"
#include "text/byte_alphabet.h"
#include "text/tokenizer_gguf.h"

namespace {

using linnet::GgufVocabulary;
using linnet::TokenId;

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// "be 12 7": flags, then ids from -9 to 999.
void read_specials(std::string_view line, GgufVocabulary& source) {
  const std::size_t end = std::min(line.find(' '), line.size());
  source.add_bos = line.substr(0, end).find('b') != std::string_view::npos;
  source.add_eos = line.substr(0, end).find('e') != std::string_view::npos;
  for (std::optional<TokenId>* id : {&source.bos, &source.eos, &source.pad}) {
    const std::size_t at = line.find_first_of("-0123456789");
    if (at == std::string_view::npos) return;
    line.remove_prefix(at);
    TokenId value = 0;
    const auto read =
        std::from_chars(line.data(), line.data() + std::min<std::size_t>(4, line.size()), value);
    if (read.ec != std::errc()) return;
    *id = value;
    line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
  }
}

GgufVocabulary vocabulary_of(std::string_view text) {
  GgufVocabulary source;
  source.name = "fuzz.gguf";
  source.model = "gpt2";
  source.pre = take_line(text);
  // The input's flags also choose whether all bytes have a token.
  const std::string_view specials = take_line(text);
  read_specials(specials, source);
  if (specials.starts_with('a')) {
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      source.tokens.push_back(linnet::to_byte_alphabet({&c, 1}));
      source.types.push_back(1);
    }
  }
  const bool typed = specials.find('t') == std::string_view::npos;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::uint8_t kind = linnet::fuzz::take_byte(line);
    if (kind == 'm') {
      source.merges.emplace_back(line);
    } else {
      source.tokens.emplace_back(line);
      source.types.push_back(kind - '0');
    }
  }
  if (!typed) source.types.clear();
  return source;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linnet;
  const GgufVocabulary source = vocabulary_of(fuzz::text_of(data, size));
  fuzz::accepts([&] {
    const Tokenizer tokenizer(tokenizer_data_from_gguf(source));
    fuzz::check_tokenizer(tokenizer);
  });
  return 0;
}
