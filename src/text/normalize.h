// Unicode normalization, for tokenizers that ask for it. Tables: utf8proc (Unicode 15).
#pragma once

#include <string>
#include <string_view>

namespace linnet {

// Form NFC of valid UTF-8.
std::string to_nfc(std::string_view text);

}  // namespace linnet
