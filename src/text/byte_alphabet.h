// The byte-level alphabet of GPT-2: each byte has one printable character, so that tokens can be
// written as text in vocabulary files ("Ġ" is the space).
#pragma once

#include <string>
#include <string_view>

namespace linnet {

// Appends the bytes that `text` stands for. False (nothing appended) when a character is not of
// the alphabet, or when the text is not valid UTF-8.
bool append_from_byte_alphabet(std::string_view text, std::string& out);
std::string to_byte_alphabet(std::string_view bytes);
// How many bytes the character of `byte` takes in UTF-8: 1 or 2.
int byte_alphabet_width(unsigned char byte);

}  // namespace linnet
