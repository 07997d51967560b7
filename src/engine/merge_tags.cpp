#include "engine/merge_tags.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "engine/label_scores.h"
#include "text/unicode_classes.h"

namespace linnet {
namespace {

enum class Touch { space, word, symbol };

Touch touch_of(char32_t point) {
  const CharClass kind = CharClasses::get().of(point);
  if (kind == CharClass::space) return Touch::space;
  const bool is_word = kind != CharClass::other || CharClasses::is_word(point);
  return is_word ? Touch::word : Touch::symbol;
}

Touch touch_at(std::string_view text, std::size_t at) {
  return touch_of(next_valid_point(text, at));
}

Touch touch_before(std::string_view text, std::size_t at) {
  do {
    --at;
  } while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return touch_at(text, at);
}

// Tokens (or a word of them) with one label.
struct Part {
  TokenSpan span;
  std::size_t label;
  float score;
};

Part labelled(TokenSpan span, std::span<const float> scores) {
  const std::size_t label = argmax(scores);
  return {span, label, scores[label]};
}

class TagMerger {
 public:
  TagMerger(const TaskText& text, const TagScores& scores, Aggregation aggregation)
      : text_(text),
        scores_(scores),
        aggregation_(aggregation),
        spans_(std::span(text.spans).subspan(text.before, text.text_tokens())) {
    LINNET_CHECK(scores.values.size() == text.text_tokens() * scores.labels.size());
  }

  std::vector<Entity> run(std::span<const std::string> ignored) {
    const bool merges = aggregation_ != Aggregation::none;
    std::string_view open;    // the name of the entity that the last part belongs to
    std::size_t members = 0;  // of that entity; 0: there is none
    std::vector<Entity> entities;
    for (const Part& part : parts()) {
      const std::string& label = scores_.labels[part.label];
      const auto [scheme, name] = split_tag(label);
      if (is_ignored(ignored, label) || is_ignored(ignored, name)) {
        members = 0;
        continue;
      }
      if (merges && members > 0 && open == name && scheme != 'B') {
        extend(entities.back(), part, ++members);
        continue;
      }
      entities.push_back({merges ? std::string(name) : label, part.score, "", {}});
      entities.back().range.begin = part.span.begin;
      entities.back().range.end = part.span.end;
      open = name;
      members = 1;
    }
    finish(entities);
    return entities;
  }

 private:
  static bool is_ignored(std::span<const std::string> ignored, std::string_view label) {
    return std::find(ignored.begin(), ignored.end(), label) != ignored.end();
  }

  std::span<const float> scores_of(std::size_t token) const {
    const std::size_t width = scores_.labels.size();
    return scores_.values.subspan(token * width, width);
  }

  std::vector<Part> parts() const {
    std::vector<Part> parts;
    if (aggregation_ == Aggregation::none || aggregation_ == Aggregation::same) {
      for (std::size_t i = 0; i < spans_.size(); ++i)
        parts.push_back(labelled(spans_[i], scores_of(i)));
      return parts;
    }
    const std::vector<bool> starts = find_word_starts(text_.text, spans_);
    for (std::size_t first = 0; first < spans_.size();) {
      std::size_t end = first + 1;
      while (end < spans_.size() && !starts[end]) ++end;
      if (!is_blank({spans_[first].begin, spans_[end - 1].end})) parts.push_back(word(first, end));
      first = end;
    }
    return parts;
  }

  bool is_blank(TokenSpan span) const {
    return touch_at(text_.text, without_space(text_.text, span).begin) == Touch::space;
  }

  Part word(std::size_t first, std::size_t end) const {
    const TokenSpan span = {spans_[first].begin, spans_[end - 1].end};
    if (aggregation_ == Aggregation::word_first) return labelled(span, scores_of(first));
    if (aggregation_ == Aggregation::word_max) {
      Part best = labelled(span, scores_of(first));
      for (std::size_t i = first + 1; i < end; ++i) {
        const Part part = labelled(span, scores_of(i));
        if (part.score > best.score) best = part;
      }
      return best;
    }
    std::vector<float> mean(scores_.labels.size());
    for (std::size_t i = first; i < end; ++i) {
      for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += scores_of(i)[j];
    }
    for (float& value : mean) value /= static_cast<float>(end - first);
    return labelled(span, mean);
  }

  // `members`: with the new one. The running mean.
  static void extend(Entity& entity, const Part& part, std::size_t members) {
    entity.range.end = part.span.end;
    entity.score += (part.score - entity.score) / static_cast<float>(members);
  }

  void finish(std::vector<Entity>& entities) const {
    CharacterCount count(text_.text);
    for (Entity& entity : entities) {
      const TokenSpan span = without_space(text_.text, {entity.range.begin, entity.range.end});
      entity.range = count.range(span);
      entity.phrase = text_.text.substr(span.begin, span.end - span.begin);
    }
  }

  const TaskText& text_;
  const TagScores& scores_;
  Aggregation aggregation_;
  std::span<const TokenSpan> spans_;
};

}  // namespace

std::vector<bool> find_word_starts(std::string_view text, std::span<const TokenSpan> spans) {
  std::vector<bool> starts;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const std::size_t begin = spans[i].begin;
    if (i == 0 || begin == 0) {
      starts.push_back(i == 0);
      continue;
    }
    const bool within = begin < spans[i - 1].end;
    starts.push_back(!within && (touch_at(text, begin) != Touch::word ||
                                 touch_before(text, begin) != Touch::word));
  }
  return starts;
}

std::pair<char, std::string_view> split_tag(std::string_view label) {
  if (label.starts_with("B-") || label.starts_with("I-")) return {label[0], label.substr(2)};
  return {'I', label};
}

std::vector<Entity> merge_tags(const TaskText& text, const TagScores& scores,
                               Aggregation aggregation, std::span<const std::string> ignored) {
  return TagMerger(text, scores, aggregation).run(ignored);
}

}  // namespace linnet
