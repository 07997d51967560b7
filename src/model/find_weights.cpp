#include "model/find_weights.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "model/build_program.h"
#include "model/weights.h"

namespace linnet {
namespace {

constexpr std::string_view kEmbedding = "embed_tokens.weight";

// Base models have no prefix, most heads "model.", question answering "transformer."; any other is
// taken when only one tensor can be the embedding.
std::string find_prefix(const ModelFiles& files) {
  for (const std::string prefix : {"model.", "", "transformer."}) {
    if (files.has(prefix + std::string(kEmbedding))) return prefix;
  }
  std::vector<std::string> found;
  for (std::string& name : files.tensor_names()) {
    if (name.ends_with("." + std::string(kEmbedding))) found.push_back(std::move(name));
  }
  if (found.size() != 1) return "model.";
  return found[0].substr(0, found[0].size() - kEmbedding.size());
}

}  // namespace

void append_list(std::string& message, std::string_view title,
                 const std::vector<std::string>& items) {
  constexpr std::size_t kNamesShown = 8;
  if (items.empty()) return;
  message += fmt::format("\n  {} {}:", items.size(), title);
  for (std::size_t i = 0; i < std::min(items.size(), kNamesShown); ++i)
    message += "\n    " + items[i];
  if (items.size() > kNamesShown)
    message += fmt::format("\n    and {} more", items.size() - kNamesShown);
}

WeightFinder::WeightFinder(const ModelFiles& files, const ModelConfig& config,
                           const Program& program, const LoadOptions& options)
    : files_(files),
      config_(config),
      program_(program),
      options_(options),
      prefix_(find_prefix(files)) {}

std::string WeightFinder::file_name(const WeightSlot& slot) const {
  return is_head_weight(slot.name) ? slot.name : prefix_ + slot.name;
}

std::vector<Tensor> WeightFinder::find_all(LoadReport& report) {
  std::vector<Tensor> tensors;
  for (const WeightSlot& slot : program_.weights) tensors.push_back(find(slot, report));
  for (const std::string& name : files_.tensor_names()) {
    if (!used_.contains(name)) report.unexpected.push_back(name);
  }
  if (!missing_.empty() || !misshapen_.empty()) refuse(report);
  return tensors;
}

Tensor WeightFinder::find(const WeightSlot& slot, LoadReport& report) {
  const std::string name = file_name(slot);
  // Without any weights the first one asked for says so.
  if (files_.weights != nullptr && !files_.has(name)) {
    const bool is_head = is_head_weight(slot.name);
    if (is_head && options_.initialize_missing_head) {
      report.initialized.push_back(name);
      const bool is_bias = slot.shape.size() == 1;
      return random_normal(slot.shape, is_bias ? 0.0f : config_.initializer_range, options_.seed);
    }
    head_is_missing_ = head_is_missing_ || is_head;
    missing_.push_back(fmt::format("{} {}", files_.describe(name), shape_text(slot.shape)));
    return {};
  }
  used_.insert(name);
  Tensor tensor = files_.tensor(name);
  report.file_bytes += tensor.stored_bytes();
  if (tensor.shape() != slot.shape) misshapen_.push_back(shape_fault(name, slot));
  return tensor;
}

std::string WeightFinder::shape_fault(const std::string& name, const WeightSlot& slot) const {
  const Shape& found = files_.find(name)->shape;
  const bool two = found.size() == 2 && slot.shape.size() == 2 && found[0] != slot.shape[0];
  std::string reason;
  if (two && slot.shape[0] == program_.vocab) {
    reason = fmt::format(" (vocab_size {})", program_.vocab);
  } else if (two && is_head_weight(slot.name) && !config_.labels.empty()) {
    reason = fmt::format(" ({} labels)", config_.labels.size());
  }
  return fmt::format("{}: the config asks for {}{}", files_.describe(name), shape_text(slot.shape),
                     reason);
}

void WeightFinder::refuse(const LoadReport& report) const {
  std::string message = fmt::format("{}: the tensors do not fit this config:", files_.config_file);
  append_list(message, "missing", missing_);
  append_list(message, "of another shape", misshapen_);
  append_list(message, "in the file that the model does not have", report.unexpected);
  if (head_is_missing_) {
    message += fmt::format(
        "\n  The checkpoint has no head for {}: load it with the head that it has, or let a new "
        "head be initialised (initialize_missing_head) and train it",
        task_head_name(config_.task_head));
  }
  fail(ErrorCode::corrupt_file, message);
}

}  // namespace linnet
