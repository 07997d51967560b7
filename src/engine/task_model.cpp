#include "engine/task_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/error.h"

namespace linnet {
namespace {

bool has_tensors_of(const ModelFiles& files, TaskHead head) {
  switch (head) {
    case TaskHead::none:
      return false;
    case TaskHead::causal_lm:
      return files.has("lm_head.weight");
    case TaskHead::sequence_classification:  // the other classifier has a bias too
      return files.has("score.weight") && !files.has("score.bias");
    case TaskHead::token_classification:
      return files.has("score.weight") && files.has("score.bias");
    case TaskHead::question_answering:
      return files.has("qa_outputs.weight") && files.has("qa_outputs.bias");
  }
  return false;
}

[[noreturn]] void refuse_head(const ModelFiles& files, TaskHead head) {
  std::string found;
  for (const TaskHead one : heads_of(files))
    found += fmt::format("{}{}", found.empty() ? "" : ", ", task_head_name(one));
  fail(ErrorCode::unsupported,
       fmt::format("{}: the model has no head for {}; it has: {}. Take a model with that head, or "
                   "let a new one be initialised (initialize_missing_head, --init-head), which "
                   "must be trained "
                   "before its answers mean anything",
                   files.path.string(), task_head_name(head),
                   found.empty() ? "none, only the bare decoder" : found));
}

}  // namespace

std::vector<TaskHead> heads_of(const ModelFiles& files) {
  const TaskHead named = ModelConfig::from_json(files.config, files.config_file).task_head;
  std::vector<TaskHead> heads;
  for (const TaskHead head : {TaskHead::causal_lm, TaskHead::sequence_classification,
                              TaskHead::token_classification, TaskHead::question_answering}) {
    if (head == named || has_tensors_of(files, head)) heads.push_back(head);
  }
  return heads;
}

TaskModel TaskModel::load(const std::filesystem::path& path, TaskHead head, const OpenOptions& open,
                          LoadOptions load) {
  ModelFiles files = open_model_files(path, open);
  if (head != TaskHead::none && !load.initialize_missing_head) {
    const std::vector<TaskHead> heads = heads_of(files);
    if (std::find(heads.begin(), heads.end(), head) == heads.end()) refuse_head(files, head);
  }
  // Small files first: a fault in them should not wait for the weights.
  auto tokenizer = files.load_tokenizer();
  load.task_head = head;
  auto model = Model::load(files, load);
  return {std::move(files), std::move(model), std::move(tokenizer)};
}

}  // namespace linnet
