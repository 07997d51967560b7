// A model opened for a task: with the head that the task reads, and with its tokenizer.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "formats/model_files.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace linnet {

struct TaskModel {
  ModelFiles files;
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Tokenizer> tokenizer;

  // `head` wins over load.task_head; TaskHead::none opens any checkpoint as its bare decoder. A
  // head that the checkpoint lacks is Error{unsupported} that names those it has, unless
  // load.initialize_missing_head asks for a new one. Other errors: those of open_model_files,
  // load_tokenizer and Model::load.
  static TaskModel load(const std::filesystem::path& path, TaskHead head,
                        const OpenOptions& open = {}, LoadOptions load = {});
};

// The heads that a checkpoint has: the one that its architecture names, and those whose tensors
// are in its files, in the order of TaskHead. The bare decoder is not counted.
std::vector<TaskHead> heads_of(const ModelFiles& files);

}  // namespace linnet
