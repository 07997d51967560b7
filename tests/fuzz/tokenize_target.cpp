// Any bytes through tokenizers that have all bytes: text comes back as it was, and without parsing
// no added token can appear. The first byte chooses the split rule and the settings.
#include <array>

#include "fuzz/target.h"
#include "fuzz/tokenizer_promises.h"
#include "text/normalize.h"
#include "text/toy_tokenizer.h"

namespace {

using namespace linnet;

TokenizerData data_of(unsigned variant) {
  static constexpr SplitRule kRules[] = {SplitRule::gpt2, SplitRule::llama3, SplitRule::smollm,
                                         SplitRule::qwen2};
  toy::ToyVocabulary toy;
  for (const char* pair :
       {"th", "he", "in", " t", "  ", "ab", "\r\n", "\n\n", "11", "'s", "\xCC\x81"}) {
    toy.merge(std::string_view(pair, 1), std::string_view(pair + 1, 1));
  }
  toy.merge("th", "e");
  toy.merge("  ", "  ");
  toy.merge(" t", "he");
  toy.merge("ab", "ab");
  toy.special("<|im_start|>");
  toy.special("<|im_end|>");
  toy.special("<think>", false);
  toy.special("<|im", false);
  toy.special("ab", false);
  toy.data.split = kRules[variant % 4];
  toy.data.ignore_merges = (variant & 4) != 0;
  toy.data.normalize_nfc = (variant & 8) != 0;
  return toy.data;
}

const Tokenizer& tokenizer_of(unsigned variant) {
  static std::array<std::unique_ptr<Tokenizer>, 16> made;
  auto& tokenizer = made[variant];
  if (!tokenizer) tokenizer = std::make_unique<Tokenizer>(data_of(variant));
  return *tokenizer;
}

void check_text(const Tokenizer& tokenizer, std::string_view text, bool normalizes) {
  const std::string expected = normalizes ? to_nfc(text) : std::string(text);
  for (const SpecialParsing parsing :
       {SpecialParsing::none, SpecialParsing::not_special, SpecialParsing::all}) {
    const EncodeOptions options{.parsing = parsing};
    const std::vector<TokenId> ids = tokenizer.encode(text, options);
    // Parts between added tokens are normalized on their own.
    const bool whole = !normalizes || parsing == SpecialParsing::none;
    const std::string decoded = tokenizer.decode(ids, false);
    fuzz::expect(!whole || decoded == expected, "decode gives back what encode took");
    fuzz::check_encoding(tokenizer, text, options, std::max(text.size(), decoded.size()));
    fuzz::check_decoding(tokenizer, ids);
    for (const TokenId id : ids) {
      if (parsing == SpecialParsing::all) break;
      const bool excluded =
          parsing == SpecialParsing::none ? tokenizer.is_added(id) : tokenizer.is_special(id);
      fuzz::expect(!excluded, "no added token where none is looked for");
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  const unsigned variant = fuzz::take_byte(text) % 16;
  const Tokenizer& tokenizer = tokenizer_of(variant);
  const bool normalizes = (variant & 8) != 0;
  if (!find_invalid_utf8(text)) {
    check_text(tokenizer, text, normalizes);
    return 0;
  }
  fuzz::expect(!fuzz::accepts([&] { tokenizer.encode(text); }), "invalid UTF-8 is refused");
  const std::string repaired = repair_utf8(text);
  fuzz::expect(
      tokenizer.encode(text, {.invalid_utf8 = InvalidUtf8::repair}) == tokenizer.encode(repaired),
      "repairing encodes the repaired text");
  check_text(tokenizer, repaired, normalizes);
  return 0;
}
