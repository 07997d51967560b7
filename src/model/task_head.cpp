#include "model/task_head.h"

#include <iterator>

namespace linnet {
namespace {

struct HeadNames {
  std::string_view name;
  std::string_view class_suffix;
};

// In the order of TaskHead.
constexpr HeadNames kHeads[] = {
    {"none", "Model"},
    {"causal_lm", "ForCausalLM"},
    {"sequence_classification", "ForSequenceClassification"},
    {"token_classification", "ForTokenClassification"},
    {"question_answering", "ForQuestionAnswering"},
};

}  // namespace

std::string_view task_head_name(TaskHead head) {
  return kHeads[static_cast<std::size_t>(head)].name;
}

std::optional<TaskHead> task_head_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kHeads); ++i) {
    if (kHeads[i].name == name) return static_cast<TaskHead>(i);
  }
  return std::nullopt;
}

std::string_view task_head_class(TaskHead head) {
  return kHeads[static_cast<std::size_t>(head)].class_suffix;
}

}  // namespace linnet
