// Takes a model's output apart while it arrives: reasoning (<think>), content, and tool calls
// (<tool_call> with JSON, <code> with Python calls). The result does not depend on how the text is
// cut into pieces, and the deltas joined are the result. What is not a whole, valid call stays in
// the content as it was written. Time is linear in the text, whatever it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/json_scanner.h"
#include "text/python_calls.h"

namespace linnet {

enum class ToolTags : std::uint8_t { none, xml, python, both };
// Their words in options and files, in the same order.
inline constexpr std::array<std::string_view, 4> kToolTagWords = {"none", "xml", "python", "both"};
std::optional<ToolTags> tool_tags_of(std::string_view word);

// Whether a text is one of the tags: tokenizers may have tokens of that name.
bool is_output_tag(std::string_view text);

struct OutputParserOptions {
  bool starts_in_reasoning = false;  // the prompt ends inside of an open <think>
  ToolTags tools = ToolTags::none;
};

// How the model's output ended, as its maker saw it.
enum class OutputEnd : std::uint8_t { stop, length };

enum class OutputKind : std::uint8_t { reasoning, content, tool_call };

struct OutputDelta {
  OutputKind kind;
  std::string text;  // of reasoning and content: what is new
  ToolCall call;     // of a tool call: the whole of it
};

struct ParsedOutput {
  std::optional<std::string> reasoning;
  std::optional<std::string> content;  // nothing only when there are calls and no text
  std::vector<ToolCall> tool_calls;
  bool parse_error = false;  // there was an open tag without a valid call
  std::string finish;        // "stop", "length" or "tool_calls"
};

class OutputParser {
 public:
  explicit OutputParser(OutputParserOptions options);

  // What is certain now; text that may still become a tag, a call or dropped space waits. Pieces
  // of whole characters give deltas of whole characters.
  std::vector<OutputDelta> push(std::string_view text);
  // The end: what waited is decided. Nothing may be pushed behind it.
  std::vector<OutputDelta> finish(OutputEnd end);
  // All of it; only after finish.
  const ParsedOutput& result() const;

 private:
  enum class State : std::uint8_t { lead, reasoning, content, json, code, skip };

  // Each moves `at`, or changes the state.
  void read(std::string_view text, std::size_t& at);
  void read_lead(std::string_view text, std::size_t& at);
  void read_reasoning(std::string_view text, std::size_t& at);
  void read_content(std::string_view text, std::size_t& at);
  void read_skipped(std::string_view text, std::size_t& at);
  void read_json(std::string_view text, std::size_t& at);
  void read_json_end(std::string_view text, std::size_t& at);
  void read_code(std::string_view text, std::size_t& at);

  using Sink = void (OutputParser::*)(std::string_view);
  // Gives text that can belong to no tag to `sink`; true when a tag is whole, then in `tag`.
  bool find_tag(std::string_view text, std::size_t& at, Sink sink, std::string_view& tag);
  bool may_begin_tag(std::string_view text) const;

  void accept(std::vector<ToolCall> calls);
  void refuse();
  void finish_json();
  std::string_view close_tag() const;
  void enter(State state);

  void add_reasoning(std::string_view text);
  void add_content(std::string_view text);
  void add_body(std::string_view text);
  void send(OutputKind kind, std::string_view text);

  std::vector<std::string_view> open_tags_;  // of calls
  std::vector<std::string_view> tags_;       // that end the present state
  State state_ = State::lead;
  bool finished_ = false;
  std::string partial_;  // the beginning of a tag
  std::string hold_;     // white space that is sent when text follows
  std::string body_;     // of a call, from behind its open tag
  std::string_view open_tag_;
  JsonScanner scanner_;
  bool value_done_ = false;      // of the call: only space and the close tag may follow
  bool block_has_text_ = false;  // the present block of reasoning
  bool after_call_ = false;      // no text since the last call
  std::string reasoning_;
  std::string content_;
  std::vector<OutputDelta> deltas_;
  ParsedOutput result_;
};

// The call in a JSON value with white space around it, by the rules for <tool_call>.
std::optional<ToolCall> read_json_call(std::string_view body);

}  // namespace linnet
