// Folders of golden/models: cases.json with a list of cases, cases.safetensors with their arrays.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/json.h"
#include "formats/safetensors.h"
#include "golden_runner/suite.h"

namespace golden {

// The largest absolute difference among a folder's arrays, and where it was.
struct LargestDifference {
  double value = 0;
  std::string name;
};

// What a case handler gets.
struct CaseContext {
  const std::filesystem::path& folder;
  const linnet::Json& head;  // the whole cases.json
  const linnet::Json& test_case;
  const linnet::SafetensorsFile& arrays;
  Report& report;
  LargestDifference& largest;

  // Passes or fails `field` of the case, against another array that will do as well when given.
  void judge(const std::string& field, std::span<const float> got, std::span<const float> expected,
             std::span<const float> other = {}) const;
  const std::string& name() const { return test_case.at("name").as_string("name"); }
  const std::string& kind() const { return test_case.at("kind").as_string("kind"); }
};

// Each returns false when the kind is not its own.
bool run_forward_case(const CaseContext& context);    // forward, forward-steps, gguf-forward, error
bool run_loss_case(const CaseContext& context);       // loss
bool run_function_case(const CaseContext& context);   // activation, rms_norm, softmax, rope
bool run_quantized_case(const CaseContext& context);  // affine-*, microscaled-*, table

// Checks that a folder's second spelling of its config gives the same model.
void run_other_spelling(const std::filesystem::path& folder, const linnet::Json& head,
                        Report& report);

}  // namespace golden
