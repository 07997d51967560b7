// The names of a model's tensors in its files, and which of them are missing or misshapen.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "formats/model_files.h"
#include "model/model.h"
#include "program/program.h"

namespace linnet {

class WeightFinder {
 public:
  WeightFinder(const ModelFiles& files, const ModelConfig& config, const Program& program,
               const LoadOptions& options);

  // In the order of program.weights, as the files have them. Error{corrupt_file} lists all missing
  // and all misshapen ones.
  std::vector<Tensor> find_all(LoadReport& report);
  // The name in the files of a slot.
  std::string file_name(const WeightSlot& slot) const;

 private:
  Tensor find(const WeightSlot& slot, LoadReport& report);
  std::string shape_fault(const std::string& name, const WeightSlot& slot) const;
  [[noreturn]] void refuse(const LoadReport& report) const;

  const ModelFiles& files_;
  const ModelConfig& config_;
  const Program& program_;
  const LoadOptions& options_;
  std::string prefix_;  // "model." in "model.norm.weight"
  bool head_is_missing_ = false;
  std::vector<std::string> missing_, misshapen_;
  std::unordered_set<std::string> used_;
};

// Adds a title with their number and the first few items, a line each; nothing for none.
void append_list(std::string& message, std::string_view title,
                 const std::vector<std::string>& items);

}  // namespace linnet
