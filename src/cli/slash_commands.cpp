#include "cli/slash_commands.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/file_map.h"
#include "base/memory_account.h"
#include "cli/machine.h"
#include "cli/nearest.h"
#include "cli/private_file.h"

namespace linnet {
namespace {

struct SlashCommand {
  const char* name;
  const char* arguments;
  const char* help;
  SlashOutcome (*run)(ChatSession&, const std::string& rest);
};

void say(ChatSession& session, const std::string& text) {
  session.out().foreign(text);
  session.out().write("\n");
}

SlashOutcome set_thinking(ChatSession& session, bool think) {
  session.prompt.think = think;
  say(session, think ? "The model thinks before it answers." : "The model answers at once.");
  return SlashOutcome::stay;
}

SlashOutcome change_system(ChatSession& session, const std::string& rest) {
  Conversation& conversation = session.conversation();
  if (rest.empty()) {
    say(session, conversation.system().empty() ? "No system text is set." : conversation.system());
  } else {
    conversation.set_system(rest);
    say(session, "The system text is set.");
  }
  return SlashOutcome::stay;
}

SlashOutcome change_settings(ChatSession& session, const std::string& rest) {
  if (rest.empty()) {
    session.out().foreign(settings_text(session.sampling, session.assistant().defaults));
    return SlashOutcome::stay;
  }
  // "NAME VALUE" or "NAME=VALUE".
  const std::size_t end = std::min(rest.find_first_of(" ="), rest.size());
  const std::size_t value = std::min(rest.find_first_not_of(" =", end), rest.size());
  const std::string name = setting_of(rest.substr(0, end));
  const auto names = setting_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const auto nearest = nearest_name(name, names);
    throw UsageError(
        fmt::format("no setting \"{}\"; {}", name,
                    nearest ? fmt::format("did you mean {}?", *nearest) : "/set alone lists them"));
  }
  if (value < rest.size()) change_setting(session.sampling, name, rest.substr(value));
  const std::string all = "\n" + settings_text(session.sampling, session.assistant().defaults);
  const std::size_t line = all.find("\n" + name + " ") + 1;
  session.out().foreign(all.substr(line, all.find('\n', line) + 1 - line));
  return SlashOutcome::stay;
}

std::string count_of_messages(ChatSession& session) {
  const std::size_t count = session.conversation().turns().size();
  return fmt::format("{} message{}", count, count == 1 ? "" : "s");
}

SlashOutcome answer_again(ChatSession& session, const std::string&) {
  if (!session.conversation().drop_answer()) throw UsageError("there is nothing to answer yet");
  const GenerationConfig config = session.sampling.applied_to(session.assistant().defaults);
  if (!config.sample || config.seed) {
    say(session,
        "Without chance in it (temperature 0, or a fixed seed) the answer stays the same.");
  }
  return SlashOutcome::answer_again;
}

SlashOutcome undo_turn(ChatSession& session, const std::string&) {
  if (!session.conversation().undo()) throw UsageError("there is nothing to undo");
  say(session, "The last question and its answer are gone.");
  return SlashOutcome::stay;
}

// "~/x" as a shell would read it.
std::string file_argument(const std::string& rest, const char* command) {
  if (rest.empty()) throw UsageError(fmt::format("{} needs a file name", command));
  const auto home = environment("HOME");
  if (rest.starts_with("~/") && home) return *home + rest.substr(1);
  return rest;
}

SlashOutcome save_chat(ChatSession& session, const std::string& rest) {
  const std::string path = file_argument(rest, "/save");
  write_private_file(path, session.conversation().to_json().dump({.indent = 2}) + "\n");
  say(session, fmt::format("Saved {} to {}.", count_of_messages(session), path));
  return SlashOutcome::stay;
}

SlashOutcome load_chat(ChatSession& session, const std::string& rest) {
  const std::string path = file_argument(rest, "/load");
  try {
    session.conversation() = Conversation::from_json(Json::parse_file(path));
  } catch (const Error& error) {
    // What the file says wrongly is told without its name.
    if (error.code() != ErrorCode::invalid_argument) throw;
    throw UsageError(fmt::format("{}: {}", path, error.what()));
  }
  say(session, fmt::format("Loaded {} from {}.", count_of_messages(session), path));
  return SlashOutcome::stay;
}

SlashOutcome clear_chat(ChatSession& session, const std::string&) {
  session.conversation().clear();
  session.forget();
  say(session, "The conversation is empty; the system text stays.");
  return SlashOutcome::stay;
}

SlashOutcome show_tokens(ChatSession& session, const std::string&) {
  const std::int64_t most = session.assistant().model->context();
  const std::int64_t used = session.context_tokens();
  say(session, fmt::format("{} of {} tokens of the context are used ({:.0f} %), by {}.", used, most,
                           100.0 * static_cast<double>(used) / static_cast<double>(most),
                           count_of_messages(session)));
  return SlashOutcome::stay;
}

SlashOutcome show_stats(ChatSession& session, const std::string& rest) {
  if (session.last_answer()) {
    const GenerationResult* result = &session.last_answer()->result;
    say(session, fmt::format("prompt   {} tokens, {} of them cached, {:.2f} s, {:.1f} tokens/s",
                             result->prompt_tokens, result->cached_tokens, result->prefill_seconds,
                             result->prefill_rate()));
    say(session,
        fmt::format("answer   {} tokens, {:.2f} s, {:.1f} tokens/s, ended by {}, seed {}",
                    result->ids.size(), result->decode_seconds, result->decode_rate(),
                    result->finish == FinishReason::cancelled ? "Ctrl-C"
                                                              : finish_reason_name(result->finish),
                    result->seed));
    say(session, fmt::format("guessed  {} tokens ahead, {} of them right", result->drafted_tokens,
                             result->accepted_tokens));
  } else {
    say(session, "No answer yet.");
  }
  for (const MemoryAccount* account : MemoryAccount::all()) {
    say(session, fmt::format("{:<8} {} in use, {} at most, {} kept for reuse", account->name(),
                             byte_text(static_cast<std::uint64_t>(account->active())),
                             byte_text(static_cast<std::uint64_t>(account->peak())),
                             byte_text(static_cast<std::uint64_t>(account->cached()))));
  }
  return show_tokens(session, rest);
}

SlashOutcome leave_chat(ChatSession&, const std::string&) { return SlashOutcome::leave; }

SlashOutcome show_help(ChatSession& session, const std::string&);

constexpr SlashCommand kCommands[] = {
    {"/think", "", "let the model think before it answers",
     [](ChatSession& s, const std::string&) { return set_thinking(s, true); }},
    {"/no_think", "", "let it answer at once",
     [](ChatSession& s, const std::string&) { return set_thinking(s, false); }},
    {"/system", "[TEXT]", "show or set the system text", change_system},
    {"/set", "[NAME VALUE]", "show or change how answers are sampled", change_settings},
    {"/regen", "", "answer the last question again", answer_again},
    {"/undo", "", "take back the last question and its answer", undo_turn},
    {"/save", "FILE", "save the messages as JSON", save_chat},
    {"/load", "FILE", "go on with saved messages", load_chat},
    {"/clear", "", "begin anew", clear_chat},
    {"/stats", "", "tokens, rates and memory", show_stats},
    {"/tokens", "", "how full the context is", show_tokens},
    {"/help", "", "this list", show_help},
    {"/bye", "", "leave; so do /exit and /quit", leave_chat},
};

SlashOutcome show_help(ChatSession& session, const std::string&) {
  for (const SlashCommand& command : kCommands) {
    say(session, fmt::format("{:<20} {}", fmt::format("{} {}", command.name, command.arguments),
                             command.help));
  }
  say(session,
      "\"\"\" begins a text of several lines, and \"\"\" ends it. Ctrl-C stops an answer; at an "
      "empty\n"
      "prompt it leaves, as Ctrl-D does. A space before a slash makes it plain text.");
  return SlashOutcome::stay;
}

[[noreturn]] void refuse_unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const SlashCommand& command : kCommands) names.emplace_back(command.name);
  const auto nearest = nearest_name(name, names);
  throw UsageError(fmt::format("no command {}; {}", name,
                               nearest ? fmt::format("did you mean {}?", *nearest)
                                       : "/help lists them; a space before it makes it text"));
}

SlashOutcome dispatch(ChatSession& session, const std::string& line) {
  const std::size_t end = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string name = line.substr(0, end);
  const std::size_t rest = std::min(line.find_first_not_of(" \t\n", end), line.size());
  // What other programs of this kind call it.
  const std::string meant = name == "/exit" || name == "/quit" ? "/bye" : name;
  for (const SlashCommand& command : kCommands) {
    if (meant != command.name) continue;
    const std::string text = line.substr(rest, line.find_last_not_of(" \t\n") + 1 - rest);
    // Most likely something else was meant, such as a path.
    if (!text.empty() && *command.arguments == 0) {
      throw UsageError(fmt::format("{} takes nothing after it", name));
    }
    return command.run(session, text);
  }
  refuse_unknown(name);
}

}  // namespace

SlashOutcome run_slash_command(ChatSession& session, const std::string& line) {
  try {
    return dispatch(session, line);
  } catch (const UsageError& error) {
    say(session, error.what());
  } catch (const Error& error) {
    say(session, error.what());
  }
  return SlashOutcome::stay;
}

}  // namespace linnet
