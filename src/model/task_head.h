// What stands on top of the decoder: nothing (hidden states), next-token logits, or a classifier.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace linnet {

// What a head gives for a selected row, and its tensors beside the backbone's:
enum class TaskHead : std::uint8_t {
  none,                     // [hidden], after the final norm
  causal_lm,                // [vocab]; lm_head.weight, or the embedding when tied
  sequence_classification,  // [labels]; score.weight. The caller selects one row per sequence
  token_classification,     // [labels]; score.weight and score.bias
  question_answering,       // [2], start and end; qa_outputs.weight and qa_outputs.bias
};

// "sequence_classification", as in options and messages.
std::string_view task_head_name(TaskHead head);
std::optional<TaskHead> task_head_from_name(std::string_view name);
// "ForSequenceClassification": what follows the family in the name of an architecture.
std::string_view task_head_class(TaskHead head);

// Which loss a sequence classifier is trained with, and how its logits are read: one number,
// softmax over the labels, or a sigmoid each. `unset`: regression with one label, else single.
enum class ProblemType : std::uint8_t { unset, regression, single_label, multi_label };

}  // namespace linnet
