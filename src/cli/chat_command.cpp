#include <fmt/core.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cli/chat_session.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_editor.h"
#include "cli/slash_commands.h"
#include "cli/user_input.h"

namespace linnet {
namespace {

constexpr const char* kPrompt = ">>> ";
constexpr const char* kPromptMore = "... ";

struct ChatFlags {
  AnswerOptions answer;
  bool echo = false;
  SamplingOptions sampling;
  MethodOptions method;
};

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

// Answers on a terminal: a failed request is told, and the chat goes on.
void answer_and_report(ChatSession& session) {
  Output& out = session.out();
  try {
    session.answer();
    const auto note = [&](const std::string& text) {
      out.line(styled(out.terminal().out_color, kDim, "(" + text + ")"));
    };
    const Answer& answer = *session.last_answer();
    if (answer.has_broken_call()) note(kBrokenCall);
    if (answer.result.finish == FinishReason::length) note("the answer was cut: no more tokens");
    if (interrupt_flag().load()) note("stopped");
    out.write("\n");
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;  // most likely of our own output
    out.foreign(std::string(error.what()) + "\n");
  }
  out.flush();
}

// One input of the user. True to leave.
bool handle_input(ChatSession& session, const std::string& input, bool is_text) {
  if (is_blank(input)) return false;
  if (input.front() == '/' && !is_text) {
    const SlashOutcome outcome = run_slash_command(session, input);
    session.out().flush();
    if (outcome == SlashOutcome::answer_again) answer_and_report(session);
    return outcome == SlashOutcome::leave;
  }
  session.conversation().add_user(repair_utf8(input));
  answer_and_report(session);
  return false;
}

void greet(ChatSession& session) {
  const std::string text =
      fmt::format("Chat with {}. /help lists the commands, /bye leaves.", session.model_name());
  // Standard output may be a file for the answers.
  if (!session.out().terminal().out) return write_error_line(session.out().terminal(), text);
  session.out().foreign(text + "\n");
  session.out().flush();
}

int chat_on_terminal(ChatSession& session) {
  HistoryFile history(default_history_path());
  const auto editor = make_terminal_editor(session.out().terminal(), history);
  greet(session);
  UserInput input;
  std::string line;
  std::string typed;  // all lines of the input, for the history
  while (true) {
    const ReadOutcome outcome = editor->read(input.pending() ? kPromptMore : kPrompt, line);
    if (outcome != ReadOutcome::line) {
      session.out().write("\n");
      session.out().flush();
    }
    if (outcome == ReadOutcome::end) return 0;
    if (outcome == ReadOutcome::interrupted) {
      if (must_leave() || (line.empty() && !input.pending())) return interrupt_status();
      input.cancel();
      typed.clear();
      clear_interrupt();
      continue;
    }
    typed += line;
    if (!input.add(line)) {
      typed += '\n';
      continue;
    }
    editor->remember(std::exchange(typed, {}));
    if (handle_input(session, input.take(), input.quoted())) return 0;
    if (must_leave()) return interrupt_status();
    clear_interrupt();
  }
}

// Every line is a user's turn as it is; slash commands are for people (a piped text must not be
// able to write files).
int chat_through_pipe(ChatSession& session, bool echo) {
  const auto reader = make_plain_reader(STDIN_FILENO);
  std::string line;
  for (std::size_t number = 1;; ++number) {
    const ReadOutcome outcome = reader->read("", line);
    if (outcome == ReadOutcome::end) return 0;
    if (outcome == ReadOutcome::interrupted) return interrupt_status();
    if (is_blank(line)) continue;
    if (const auto offset = find_invalid_utf8(line)) {
      log_warn(fmt::format("standard input, line {}: invalid UTF-8 at byte {} was replaced", number,
                           *offset));
    }
    session.conversation().add_user(repair_utf8(line));
    if (echo) {
      session.out().foreign(kPrompt + line);
      session.out().write("\n");
    }
    session.answer();
    if (session.last_answer()->has_broken_call()) log_warn(kBrokenCall);
    if (echo) session.out().write("\n");
    if (interrupt_flag().load()) return interrupt_status();
  }
}

int run_chat(CommandContext& context, const ChatFlags& options) {
  // Before the model: a fault in a small file should not wait for it.
  const PromptSettings prompt = PromptSettings::of(options.answer, context.globals);
  ChatSession session(context, open_assistant(context));
  const bool on_terminal = context.terminal().in;
  session.sampling = options.sampling;
  session.method = options.method;
  session.prompt = prompt;
  session.conversation().set_system(options.answer.system);
  session.style.show_reasoning = options.answer.show_thinking.value_or(on_terminal);
  session.style.reasoning_on_output = on_terminal && context.terminal().out;
  session.style.live = true;
  const DeferInterrupt deferred;
  return on_terminal ? chat_on_terminal(session) : chat_through_pipe(session, options.echo);
}

}  // namespace

Command make_chat_command() {
  auto options = std::make_shared<ChatFlags>();
  Command command;
  command.name = "chat";
  command.summary = "Talk with a model";
  command.details =
      "On a terminal, lines can be edited and earlier ones come back with the arrow keys; \"\"\" "
      "begins and ends a text of several lines; /help lists the commands. Ctrl-C stops an answer, "
      "and leaves at an empty prompt. Otherwise every line of standard input is one message, and "
      "only the answers come out.";
  command.examples = {"linnet chat", "linnet chat --system \"Answer in French.\" --no-think",
                      "linnet chat --temperature 0 --echo < questions.txt"};
  command.options = answer_option_table(options->answer);
  command.options.push_back(
      {.name = "echo",
       .help = "print every message before its answer, for a readable record of piped messages",
       .set = to_flag(options->echo)});
  for (auto table : {sampling_option_table(options->sampling),
                     bound_option_table(options->method, {"stop", "error", "drop-oldest"})}) {
    command.options.insert(command.options.end(), table.begin(), table.end());
  }
  command.run = [options](CommandContext& context) { return run_chat(context, *options); };
  return command;
}

}  // namespace linnet
