// From the text of a model that was asked for {"category", "confidence", "reply"} to a decision on
// a ticket. Nothing is repaired: what cannot be read strictly goes to a person. Time is linear.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace linnet {

enum class AnswerFault : std::uint8_t {
  none,
  truncated_reasoning,  // a <think> that does not end
  no_object,            // no whole JSON object
  missing_category,
  category_not_text,
  conflict,  // objects that name different categories
  unknown_label,
};
std::string_view answer_fault_name(AnswerFault fault);

struct RouterAnswer {
  AnswerFault fault = AnswerFault::none;
  // billing, technical, account or general; general after a fault.
  std::string category = "general";
  double confidence = 0;             // the model's own word for it, in 0 to 1
  std::optional<std::string> reply;  // never only white space
  bool escalate = true;              // a person must look at the ticket

  bool ok() const { return fault == AnswerFault::none; }
};

// Answers with less confidence go to a person.
inline constexpr double kLeastConfidence = 0.70;

RouterAnswer extract_answer(std::string_view model_text);

}  // namespace linnet
