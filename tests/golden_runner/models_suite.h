// Folders of golden/models: cases.json with a list of cases, cases.safetensors with their arrays.
#pragma once

#include <filesystem>

#include "base/json.h"
#include "formats/safetensors.h"
#include "golden_runner/suite.h"

namespace golden {

// What a case handler gets.
struct CaseContext {
  const std::filesystem::path& folder;
  const linnet::Json& head;  // the whole cases.json
  const linnet::Json& test_case;
  const linnet::SafetensorsFile& arrays;
  Report& report;

  const std::string& name() const { return test_case.at("name").as_string("name"); }
  const std::string& kind() const { return test_case.at("kind").as_string("kind"); }
};

// Each returns false when the kind is not its own.
bool run_forward_case(const CaseContext& context);   // forward, forward-steps, gguf-forward, error
bool run_loss_case(const CaseContext& context);      // loss
bool run_function_case(const CaseContext& context);  // activation, rms_norm, softmax, rope
bool run_quantized_case(const CaseContext& context);  // affine-*, microscaled-*, table

// Checks that a folder's second spelling of its config gives the same model.
void run_other_spelling(const std::filesystem::path& folder, const linnet::Json& head,
                        Report& report);

}  // namespace golden
