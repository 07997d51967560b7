// The end of a system turn that a template leaves open (SmolLM3's does without tools).
#pragma once

#include "text/chat.h"

namespace linnet {

// When the template began the prompt with a system turn and began another turn without an end in
// between, puts <|im_end|> and a newline before the second. Tags that a client wrote do not count.
void close_system_turn(Prompt& prompt);

}  // namespace linnet
