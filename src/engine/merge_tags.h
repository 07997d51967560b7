// From the labels of tokens to entities of a text: words, the BIO scheme, ranges. Pure functions of
// the scores.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/task_text.h"

namespace linnet {

enum class Aggregation : std::uint8_t {
  none,  // an entity per token, with the label as the model has it ("B-PER")
  same,  // neighbouring tokens with labels of the same entity are one
  // The same over whole words (white space on its own is none), whose label comes from
  word_first,    // the scores of the word's first token,
  word_average,  // the mean of the scores of its tokens,
  word_max,      // or the token with the largest score.
};

struct Entity {
  std::string label;  // without "B-" and "I-" when tokens were merged
  float score = 0;    // probability of the label; of several tokens or words the mean
  std::string phrase;
  TextRange range;
  bool operator==(const Entity&) const = default;
};

// Whether each token begins a word: the first token; a token that begins with white space or
// follows it; one that begins with a punctuation mark or another symbol, or follows one. Letters,
// marks, digits and "_" that touch are one word; so is text of a script that puts no space between
// words. A token that begins within a character goes with the token before it.
std::vector<bool> find_word_starts(std::string_view text, std::span<const TokenSpan> spans);

// "B-PER" is {'B', "PER"}, "I-PER" {'I', "PER"}; a label of no scheme counts as inside: {'I',
// label}.
std::pair<char, std::string_view> split_tag(std::string_view label);

struct TagScores {
  std::span<const float> values;  // [text.text_tokens(), labels]: probabilities
  std::span<const std::string> labels;
};

// An entity begins at "B-", at another
// name than that of the token (or word) before it, and after an ignored one. Labels to be ignored
// are given with or without their prefix. Entities come in the order of the text.
std::vector<Entity> merge_tags(const TaskText& text, const TagScores& scores,
                               Aggregation aggregation, std::span<const std::string> ignored);

}  // namespace linnet
