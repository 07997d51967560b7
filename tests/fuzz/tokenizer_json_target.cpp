// tokenizer.json: what is accepted gives a tokenizer that works.
#include "fuzz/target.h"
#include "fuzz/tokenizer_promises.h"
#include "text/tokenizer_json.h"

namespace {

// A file of a few bytes may ask for a table of two million tokens, which is its right, but takes
// the time of a thousand inputs.
bool has_large_number(std::string_view text) {
  int digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 4) return true;
  }
  return false;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linnet;
  const std::string_view text = fuzz::text_of(data, size);
  if (has_large_number(text)) return 0;
  fuzz::accepts([&] {
    const Tokenizer tokenizer(tokenizer_data_from_json(text, "fuzz.json"));
    fuzz::check_tokenizer(tokenizer);
  });
  return 0;
}
