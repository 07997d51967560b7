// What decoders with `clean_up_tokenization_spaces` do to decoded text: spaces before punctuation
// and contractions go. It is never done by default, since it changes text that the model wrote.
#pragma once

#include <string>
#include <string_view>

namespace linnet {

// Replaces, one after the other over the whole text: " ." " ?" " !" " ," by the mark, " ' " by "'",
// and " n't" " 'm" " 's" " 've" " 're" by themselves without the space.
std::string clean_up_spaces(std::string_view text);

}  // namespace linnet
