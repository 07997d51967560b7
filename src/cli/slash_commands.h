// The commands of a chat that begin with a slash.
#pragma once

#include <string>

#include "cli/chat_session.h"

namespace linnet {

enum class SlashOutcome {
  stay,
  leave,
  answer_again,  // the last user turn waits for an answer
};

// `line` begins with a slash. Messages go to the session's output; a mistake of the user (unknown
// command, wrong value, a file that cannot be read) is told there and changes nothing.
SlashOutcome run_slash_command(ChatSession& session, const std::string& line);

}  // namespace linnet
