// Which network a config describes: family, head, and the labels of a classifier.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "model/config_fields.h"

namespace linnet {
namespace {

constexpr std::int64_t kMostLabels = std::int64_t{1} << 20;

// The value of "model_type" and the beginning of the architectures' names.
struct Family {
  std::string_view model_type;
  std::string_view prefix;
};
constexpr Family kFamilies[] = {{"smollm3", "SmolLM3"}, {"llama", "Llama"}};
constexpr TaskHead kAllHeads[] = {TaskHead::none, TaskHead::causal_lm,
                                  TaskHead::sequence_classification, TaskHead::token_classification,
                                  TaskHead::question_answering};

std::string class_name(const Family& family, TaskHead head) {
  return std::string(family.prefix) + std::string(task_head_class(head));
}

std::string written_architecture(const ConfigFields& fields, const std::string& model_type) {
  const Json* list = fields.find("architectures");
  if (list != nullptr && list->size() > 0) {
    const std::string label = fields.label("architectures");
    return list->as_array(label)[0].as_string(label);
  }
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return class_name(family, TaskHead::causal_lm);
  }
  return "";
}

std::pair<const Family*, TaskHead> find_architecture(const std::string& name) {
  for (const Family& family : kFamilies) {
    for (const TaskHead head : kAllHeads) {
      if (name == class_name(family, head)) return {&family, head};
    }
  }
  return {nullptr, TaskHead::none};
}

[[noreturn]] void refuse_architecture(const ConfigFields& fields, const ModelConfig& config) {
  std::string known;
  for (const Family& family : kFamilies) {
    for (const TaskHead head : kAllHeads)
      known += (known.empty() ? "" : ", ") + class_name(family, head);
  }
  fail(ErrorCode::unsupported,
       fmt::format("{}: architecture \"{}\" (model_type \"{}\") is not one that Linnet runs: {}",
                   fields.label("architectures"), config.architecture, config.model_type, known));
}

// id2label: {"0": "name", ...} with every id from 0 on.
std::vector<std::string> labels_by_id(const ConfigFields& fields, const Json& map) {
  const std::string label = fields.label("id2label");
  const Json::Object& members = map.as_object(label);
  std::vector<std::string> labels(members.size());
  std::vector<bool> seen(members.size(), false);
  for (const auto& [key, name] : members) {
    const bool digits =
        !key.empty() && key.size() <= 7 &&
        std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    const std::size_t id = digits ? std::stoul(key) : members.size();
    if (id >= members.size() || seen[id]) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: \"{}\" is not one of the ids 0 to {}, each once", label, key,
                       members.size() - 1));
    }
    seen[id] = true;
    labels[id] = name.as_string(label);
  }
  return labels;
}

// label2id alone: {"name": 0, ...}.
std::vector<std::string> labels_by_name(const ConfigFields& fields, const Json& map) {
  const std::string label = fields.label("label2id");
  const Json::Object& members = map.as_object(label);
  std::vector<std::string> labels(members.size());
  std::vector<bool> seen(members.size(), false);
  for (const auto& [name, id] : members) {
    const auto index = static_cast<std::size_t>(
        id.as_int_in(0, static_cast<std::int64_t>(members.size()) - 1, label));
    if (seen[index]) {
      fail(ErrorCode::invalid_argument, fmt::format("{}: two labels have the id {}", label, index));
    }
    seen[index] = true;
    labels[index] = name;
  }
  return labels;
}

std::vector<std::string> read_labels(const ConfigFields& fields) {
  std::vector<std::string> labels;
  if (const Json* by_id = fields.find("id2label"); by_id != nullptr && by_id->size() > 0) {
    labels = labels_by_id(fields, *by_id);
  } else if (const Json* by_name = fields.find("label2id"); by_name && by_name->size() > 0) {
    labels = labels_by_name(fields, *by_name);
  }
  // As in transformers: the number wins, and two labels are the default.
  const std::int64_t count = fields.size_or(
      "num_labels", kMostLabels, labels.empty() ? 2 : static_cast<std::int64_t>(labels.size()));
  if (count != static_cast<std::int64_t>(labels.size())) {
    labels.clear();
    for (std::int64_t i = 0; i < count; ++i) labels.push_back(fmt::format("LABEL_{}", i));
  }
  return labels;
}

ProblemType read_problem_type(const ConfigFields& fields) {
  constexpr std::array<std::pair<std::string_view, ProblemType>, 3> kTypes = {{
      {"regression", ProblemType::regression},
      {"single_label_classification", ProblemType::single_label},
      {"multi_label_classification", ProblemType::multi_label},
  }};
  const std::string name = fields.text("problem_type", "");
  if (name.empty()) return ProblemType::unset;
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  fail(ErrorCode::unsupported,
       fmt::format("{}: \"{}\" is none of regression, single_label_classification, "
                   "multi_label_classification",
                   fields.label("problem_type"), name));
}

}  // namespace

void read_task_head(const ConfigFields& fields, std::optional<TaskHead> chosen,
                    ModelConfig& config) {
  config.model_type = fields.text("model_type", "");
  config.architecture = written_architecture(fields, config.model_type);
  const auto [family, head] = find_architecture(config.architecture);
  if (family == nullptr) refuse_architecture(fields, config);
  config.model_type = family->model_type;
  config.task_head = chosen.value_or(head);
  config.architecture = class_name(*family, config.task_head);
  if (config.task_head == TaskHead::sequence_classification ||
      config.task_head == TaskHead::token_classification) {
    config.labels = read_labels(fields);
    config.problem_type = read_problem_type(fields);
  }
}

}  // namespace linnet
