// Chat templates: messages and tools in, the text of a prompt out, with a note on which of its
// bytes the client wrote (chat_encode.h turns it into ids). A template that fails fails the
// request; nothing falls back to another one silently.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/jinja.h"

namespace linnet {

struct PreparedMessages;

struct ChatOptions {
  bool add_generation_prompt = true;
  std::optional<bool> enable_thinking;  // absent: as the template decides
  std::optional<CivilTime> now;         // absent: the machine's local time
  // Leaves the thoughts of earlier assistant turns out. A template that puts an empty block before
  // an answer in the mode without thinking (SmolLM3's) would otherwise show two blocks in a row.
  bool drop_thoughts = false;
  // SmolLM3's template does not close its system turn when there are no tools, and the model was
  // trained on that; off, the template's words are kept. On, such a turn gets its <|im_end|>.
  bool close_system_turn = false;
  // More variables for the template (an API's chat_template_kwargs): an object of scalars;
  // xml_tools, python_tools and documents may be arrays.
  Json extra;
  JinjaLimits limits;
};

// What the end of a prompt says about the thinking block of the answer to come.
enum class ThinkingState {
  none,    // no tag: the model may open a block itself
  open,    // the prompt opened one: the answer begins inside
  closed,  // the prompt holds an empty or finished one
};

struct Prompt {
  std::string text;
  std::vector<Span> input_spans;       // what came from messages, tools and other variables
  std::vector<Span> generation_spans;  // assistant turns, where the template marks them
  ThinkingState thinking = ThinkingState::none;
};

class ChatTemplate {
 public:
  // Texts that many templates write as bos_token and eos_token; they count as the template's own.
  struct Tokens {
    std::string bos;
    std::string eos;
  };
  // Throws JinjaError{syntax}.
  ChatTemplate(std::string source, std::string name)
      : ChatTemplate(std::move(source), std::move(name), Tokens()) {}
  ChatTemplate(std::string source, std::string name, Tokens tokens);
  // The plain form for models that bring no template.
  static ChatTemplate chatml();

  // `messages` as in message_list.h; `tools` is an array or null. Error{invalid_argument} names
  // the field, or is a JinjaError of the template.
  Prompt render(const Json& messages, const Json& tools, const ChatOptions& options) const;
  const std::string& source() const { return template_.source(); }
  // Whether assistant turns are marked with {% generation %}.
  bool marks_generation() const;

 private:
  bool mentions(std::string_view word) const;
  Json variables(const Json& tools, const ChatOptions& options) const;
  Prompt render_with(const PreparedMessages& prepared, const Json& variables,
                     const ChatOptions& options) const;

  JinjaTemplate template_;
  Tokens tokens_;
};

}  // namespace linnet
