#include "cli/think_splitter.h"

#include <doctest/doctest.h>

#include <vector>

using linnet::AnswerPart;
using linnet::ThinkSplitter;

namespace {

struct Parts {
  std::string reasoning;
  std::string answer;
  ThinkSplitter splitter;

  explicit Parts(ThinkSplitter::Start start = {})
      : splitter(
            [this](AnswerPart part, std::string_view text) {
              CHECK_FALSE(text.empty());
              (part == AnswerPart::answer ? answer : reasoning) += text;
            },
            start) {}
};

}  // namespace

TEST_CASE("reasoning and answer are told apart at every cut of the stream") {
  const std::string text = "<think>\nTwo and two.\n\nFour?\n</think>\n4 < 5";
  for (std::size_t a = 0; a <= text.size(); ++a) {
    for (std::size_t b = a; b <= text.size(); ++b) {
      Parts parts;
      parts.splitter.feed(text.substr(0, a));
      parts.splitter.feed(text.substr(a, b - a));
      parts.splitter.feed(text.substr(b));
      parts.splitter.finish();
      CHECK(parts.reasoning == "Two and two.\n\nFour?");
      CHECK(parts.answer == "4 < 5");
    }
  }
}

TEST_CASE("byte by byte, and a prompt that left the tag open") {
  Parts parts({.in_reasoning = true});
  for (const char c : std::string("hm\n</thin</think>\n\nyes\n")) parts.splitter.feed({&c, 1});
  parts.splitter.finish();
  CHECK(parts.reasoning == "hm\n</thin");
  CHECK(parts.answer == "yes\n");
}

TEST_CASE("a beginning of a tag at the end of the stream is text") {
  Parts parts;
  parts.splitter.feed("a <thi");
  CHECK(parts.answer == "a ");
  parts.splitter.finish();
  CHECK(parts.answer == "a <thi");
}

TEST_CASE("reasoning that was never closed stays reasoning") {
  Parts parts;
  parts.splitter.feed("<think>so far");
  parts.splitter.finish();
  CHECK(parts.reasoning == "so far");
  CHECK(parts.answer.empty());
}

TEST_CASE("where the tags are tokens, the same letters from others are text") {
  Parts parts({.tags_are_tokens = true});
  parts.splitter.expect_tag();
  parts.splitter.feed("<think>");
  parts.splitter.feed("Is </think> a tag?");
  parts.splitter.expect_tag();
  parts.splitter.feed("</think>");
  parts.splitter.feed("The tag <think> begins.");
  parts.splitter.finish();
  CHECK(parts.reasoning == "Is </think> a tag?");
  CHECK(parts.answer == "The tag <think> begins.");
}

TEST_CASE("tags that are special tokens have no text") {
  Parts parts({.tags_are_tokens = true});
  parts.splitter.pass_tag();
  parts.splitter.feed("thought");
  parts.splitter.pass_tag();
  parts.splitter.feed("answer");
  parts.splitter.finish();
  CHECK(parts.reasoning == "thought");
  CHECK(parts.answer == "answer");
}
