#include "cli/think_splitter.h"

#include <algorithm>
#include <utility>

namespace linnet {
namespace {

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";

// Length of the longest end of `text` that is a proper beginning of `tag`.
std::size_t cut_tag_length(std::string_view text, std::string_view tag) {
  for (std::size_t length = std::min(text.size(), tag.size() - 1); length > 0; --length) {
    if (text.ends_with(tag.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

ThinkSplitter::ThinkSplitter(Sink sink, Start start)
    : sink_(std::move(sink)),
      in_reasoning_(start.in_reasoning),
      tags_are_tokens_(start.tags_are_tokens) {}

std::string_view ThinkSplitter::tag() const { return in_reasoning_ ? kClose : kOpen; }

void ThinkSplitter::change_part() {
  in_reasoning_ = !in_reasoning_;
  at_start_ = true;
  space_.clear();
}

void ThinkSplitter::pass_tag() {
  finish();
  change_part();
}

void ThinkSplitter::feed(std::string_view text) {
  held_ += text;
  std::string_view left = held_;
  for (std::size_t at = left.find(tag()); at != std::string_view::npos; at = left.find(tag())) {
    const std::size_t length = tag().size();
    if (tags_are_tokens_ && expected_ == 0) {
      emit(left.substr(0, at + length));
    } else {
      emit(left.substr(0, at));
      change_part();
      if (tags_are_tokens_) --expected_;
    }
    left.remove_prefix(at + length);
  }
  const std::size_t keep = cut_tag_length(left, tag());
  emit(left.substr(0, left.size() - keep));
  held_.erase(0, held_.size() - keep);
}

void ThinkSplitter::finish() {
  emit(held_);
  held_.clear();
}

void ThinkSplitter::emit(std::string_view text) {
  if (at_start_) {
    text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
    at_start_ = text.empty();
  }
  if (text.empty()) return;
  if (!in_reasoning_) return sink_(AnswerPart::answer, text);
  // Newlines before </think> are not part of the reasoning: they wait for what follows.
  const std::size_t last = text.find_last_not_of("\r\n");
  if (last == std::string_view::npos) {
    space_ += text;
    return;
  }
  if (!space_.empty()) sink_(AnswerPart::reasoning, std::exchange(space_, {}));
  sink_(AnswerPart::reasoning, text.substr(0, last + 1));
  space_ = text.substr(last + 1);
}

}  // namespace linnet
