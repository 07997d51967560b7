#include "text/chat_system_turn.h"

#include <algorithm>
#include <optional>

namespace linnet {
namespace {

constexpr std::string_view kBegin = "<|im_start|>";
constexpr std::string_view kBeginSystem = "<|im_start|>system\n";
constexpr std::string_view kEnd = "<|im_end|>";
constexpr std::string_view kInserted = "<|im_end|>\n";

// Finds what the template itself wrote.
class TemplateWords {
 public:
  explicit TemplateWords(const Prompt& prompt) : text_(prompt.text), input_(prompt.input_spans) {}

  std::optional<std::size_t> find(std::string_view word, std::size_t from) const {
    for (std::size_t at = text_.find(word, from); at != std::string_view::npos;
         at = text_.find(word, at + 1)) {
      if (!is_input(at, at + word.size())) return at;
    }
    return std::nullopt;
  }

 private:
  bool is_input(std::size_t begin, std::size_t end) const {
    const auto behind = std::partition_point(input_.begin(), input_.end(),
                                             [&](const Span& span) { return span.end <= begin; });
    return behind != input_.end() && behind->begin < end;
  }

  std::string_view text_;
  const std::vector<Span>& input_;
};

void make_room(std::vector<Span>& spans, std::size_t at) {
  for (Span& span : spans) {
    if (span.begin >= at) span.begin += kInserted.size();
    if (span.end > at) span.end += kInserted.size();
  }
}

}  // namespace

void close_system_turn(Prompt& prompt) {
  const TemplateWords words(prompt);
  const auto system = words.find(kBegin, 0);
  if (!system ||
      std::string_view(prompt.text).substr(*system, kBeginSystem.size()) != kBeginSystem) {
    return;
  }
  const auto next = words.find(kBegin, *system + 1);
  const auto end = words.find(kEnd, *system);
  if (!next || (end && *end < *next)) return;
  prompt.text.insert(*next, kInserted);
  make_room(prompt.input_spans, *next);
  make_room(prompt.generation_spans, *next);
}

}  // namespace linnet
