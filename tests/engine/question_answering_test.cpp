#include "engine/question_answering.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/answer_spans.h"
#include "engine/golden_head.h"
#include "engine/tiny_model.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

const std::string kHead = "question-answering";

std::vector<QuestionResult> answer(std::span<const Question> questions,
                                   const QuestionOptions& options) {
  return QuestionAnswerer(golden_model(kHead), byte_tokenizer(), options).answer(questions);
}

// Probabilities of golden logits, in f64: of the tokens from `first` on, and of token 0 behind them
// when it counts.
std::vector<double> softmax_of(const GoldenRow& row, const char* field, std::size_t first,
                               bool with_none) {
  std::vector<double> values;
  const auto push = [&](std::size_t i) {
    values.push_back(std::exp(static_cast<double>(row.expected.at(field)[row.columns[i]])));
  };
  for (std::size_t i = first; i < row.columns.size(); ++i) push(i);
  if (with_none) push(0);
  double sum = 0;
  for (const double value : values) sum += value;
  for (double& value : values) value /= sum;
  return values;
}

std::vector<float> random_row(std::size_t count, std::uint32_t& state) {
  std::vector<float> values(count);
  // Few different values: many ties.
  for (float& value : values)
    value = static_cast<float>(((state = state * 1664525u + 1013904223u) >> 8) % 6) / 8;
  return values;
}

std::string fault_of(const QuestionAnswerer& answerer, const Question& question) {
  try {
    answerer.prepare(question);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the best spans are those of a search through all") {
  std::uint32_t state = 77;
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = static_cast<std::size_t>(round) % 13;
    const auto start = random_row(count, state), end = random_row(count, state);
    for (const std::size_t most : {1u, 3u, 100u}) {
      std::vector<AnswerSpan> all;
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = i; j < count && j - i < most; ++j)
          all.push_back({i, j, start[i] * end[j]});
      }
      std::stable_sort(all.begin(), all.end(),
                       [](const auto& a, const auto& b) { return a.score > b.score; });
      for (const std::size_t top : {1u, 4u, 1000u}) {
        auto wanted = all;
        wanted.resize(std::min(top, all.size()));
        CHECK(best_spans(start, end, most, top) == wanted);
      }
    }
  }
}

TEST_CASE("answers and scores of the golden model, by both rules") {
  for (const GoldenRow& row : golden_rows(kHead)) {
    for (const bool impossible : {false, true}) {
      if (row.text.size() < 4) continue;
      const std::size_t first = 2;  // tokens of the question
      const std::vector<Question> questions = {{row.text.substr(0, first), row.text.substr(first)}};
      const auto start = softmax_of(row, "start_logits", first, impossible);
      const auto end = softmax_of(row, "end_logits", first, impossible);
      const std::size_t count = row.text.size() - first;
      double best = 0;
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = i; j < count; ++j) best = std::max(best, start[i] * end[j]);
      }
      const double none = impossible ? start.back() * end.back() : -1;
      QuestionOptions options;
      options.impossible = impossible;
      options.top = 100;
      const auto answers = answer(questions, options)[0].answers;
      CHECK(answers.size() == std::min<std::size_t>(100, count * (count + 1) / 2 + impossible));
      CHECK(static_cast<double>(answers[0].score) ==
            doctest::Approx(std::max(best, none)).epsilon(1e-4));
      CHECK(answers[0].none == (none > best));
      for (const SpanAnswer& one : answers) {
        if (one.none) {
          CHECK(static_cast<double>(one.score) == doctest::Approx(none).epsilon(1e-4));
          continue;
        }
        const std::size_t i = one.range.begin, j = one.range.end - 1;
        CHECK(one.text == questions[0].context.substr(i, j + 1 - i));
      }
      options.rule = SpanRule::independent;
      options.impossible = false;
      const auto s = softmax_of(row, "start_logits", first, false);
      const auto e = softmax_of(row, "end_logits", first, false);
      const auto most_start = std::max_element(s.begin(), s.end());
      const auto most_end = std::max_element(e.begin(), e.end());
      const SpanAnswer found = answer(questions, options)[0].answers[0];
      CHECK(static_cast<double>(found.score) ==
            doctest::Approx(*most_start * *most_end).epsilon(1e-4));
      CHECK(found.range.begin == static_cast<std::size_t>(most_start - s.begin()));
      const auto last = static_cast<std::size_t>(most_end - e.begin());
      CHECK(found.range.end == std::max(last + 1, found.range.begin));
    }
  }
}

TEST_CASE("answers have the same bits alone, in any batch and in any order") {
  std::vector<Question> questions;
  const auto texts = random_texts(24, 200, 21);
  for (std::size_t i = 0; i + 1 < texts.size(); ++i)
    questions.push_back({"who " + texts[i].substr(0, 20), texts[i + 1] + "."});
  QuestionOptions options;
  options.top = 3;
  options.window = 60;
  options.stride = 15;
  const auto same = [](const QuestionResult& a, const QuestionResult& b) {
    return std::equal(a.answers.begin(), a.answers.end(), b.answers.begin(), b.answers.end(),
                      [](const SpanAnswer& x, const SpanAnswer& y) {
                        return x.text == y.text && x.score == y.score && x.range == y.range;
                      });
  };
  const auto whole = answer(questions, options);
  for (const BatchLimits limits : {BatchLimits{1, 1024}, BatchLimits{3, 150}, BatchLimits{8, 13}}) {
    options.limits = limits;
    const auto other = answer(questions, options);
    for (std::size_t i = 0; i < questions.size(); ++i) CHECK(same(other[i], whole[i]));
  }
  const std::vector<Question> backwards(questions.rbegin(), questions.rend());
  const auto reversed = answer(backwards, options);
  for (std::size_t i = 0; i < questions.size(); ++i)
    CHECK(same(reversed[questions.size() - 1 - i], whole[i]));
}

TEST_CASE("a long context is read in windows whose answers compete") {
  const std::string context = random_texts(1, 3000, 8)[0] + std::string(200, 'k');
  const std::vector<Question> whole = {{"who?", context}};
  QuestionOptions options;
  options.window = 54;  // 50 for the context
  options.stride = 20;
  options.top = 5;
  options.impossible = true;
  const QuestionResult found = answer(whole, options)[0];
  float best = 0, none = 1;
  std::int64_t windows = 0;
  for (std::size_t begin = 0; begin + 20 < context.size(); begin += 30, ++windows) {
    const std::vector<Question> part = {{"who?", context.substr(begin, 50)}};
    QuestionOptions all = options;
    all.top = 10000;
    const QuestionResult alone = answer(part, all)[0];
    for (const SpanAnswer& one : alone.answers) {
      if (one.none) none = std::min(none, one.score);
      if (!one.none) best = std::max(best, one.score);
    }
  }
  CHECK(found.windows == windows);
  CHECK(found.answers.size() == 5);
  CHECK(found.answers[0].score == std::max(best, none));
  for (std::size_t i = 0; i < found.answers.size(); ++i) {
    const SpanAnswer& one = found.answers[i];
    CHECK(one.text == context.substr(one.range.begin, one.range.end - one.range.begin));
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(found.answers[j].range == one.range);
  }
}

TEST_CASE("an answer is at most as long as allowed, and has no space at its ends") {
  QuestionOptions options;
  options.most_tokens = 3;
  options.top = 500;
  const std::vector<Question> questions = {{"?", "a  b c d  e"}};
  const auto answers = answer(questions, options)[0].answers;
  CHECK(answers.size() == 30);  // 11 + 10 + 9 spans
  for (const SpanAnswer& one : answers) {
    CHECK(one.text.size() <= 3);
    const bool is_blank = one.text.find_first_not_of(' ') == std::string::npos;
    CHECK((is_blank || (one.text.front() != ' ' && one.text.back() != ' ')));
  }
}

TEST_CASE("places are counted in bytes and in characters of the context") {
  LoadOptions load;
  load.initialize_missing_head = true;
  const auto opened = TaskModel::load(tiny_folder(), TaskHead::question_answering, {}, load);
  QuestionOptions options;
  options.top = 1000;
  const QuestionAnswerer answerer(opened.model, opened.tokenizer, options);
  const std::string context = "Caf\xC3\xA9 in \xE5\x8C\x97\xE4\xBA\xAC";
  const std::vector<Question> questions = {{"o\xC3\xB9?", context}};
  const QuestionResult result = answerer.answer(questions)[0];
  REQUIRE_FALSE(result.answers.empty());
  for (const SpanAnswer& one : result.answers) {
    CHECK(one.text == context.substr(one.range.begin, one.range.end - one.range.begin));
    const auto characters = [&](std::size_t bytes) {
      return static_cast<std::size_t>(
          std::count_if(context.begin(), context.begin() + static_cast<std::ptrdiff_t>(bytes),
                        [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    };
    CHECK(one.range.begin_character == characters(one.range.begin));
    CHECK(one.range.end_character == characters(one.range.end));
  }
}

TEST_CASE("questions that cannot be asked are refused with a reason") {
  QuestionOptions options;
  options.window = 10;
  const QuestionAnswerer answerer(golden_model(kHead), byte_tokenizer(), options);
  CHECK(holds(fault_of(answerer, {"", "text"}), "question is empty"));
  CHECK(holds(fault_of(answerer, {"who?", ""}), "context is empty"));
  CHECK(holds(fault_of(answerer, {"\xFF", "text"}), "UTF-8"));
  const std::string fault = fault_of(answerer, {"who is it?", "text"});
  CHECK_MESSAGE((holds(fault, "10 tokens, of 10") && holds(fault, "no room")), fault);
  CHECK(fault_of(answerer, {"who is i?", "text"}) == "no error");
  CHECK_THROWS_AS(QuestionAnswerer(tiny_model(), tiny_tokenizer()), Error);
  options.top = 0;
  CHECK_THROWS_AS(QuestionAnswerer(golden_model(kHead), byte_tokenizer(), options), Error);
}
