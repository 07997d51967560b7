#include "golden_runner/models_suite.h"

#include "golden_runner/blocks_suite.h"
#include "golden_runner/sampling_suite.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;

bool accepts(const fs::path& folder) {
  return fs::exists(folder / "cases.json") && fs::exists(folder / "cases.safetensors");
}

void run_case(const CaseContext& context) {
  if (run_forward_case(context) || run_loss_case(context)) return;
  if (run_function_case(context) || run_quantized_case(context)) return;
  if (run_blocks_case(context) || run_sampling_case(context)) return;
  context.report.skip(context.name(), "cases of kind " + context.kind() + " are not built yet");
}

void run(const fs::path& folder, Report& report) {
  const Json head = Json::parse_file((folder / "cases.json").string());
  const auto arrays = linnet::SafetensorsFile::open(folder / "cases.safetensors");
  for (const Json& test_case : head.at("cases").as_array("cases")) {
    const CaseContext context{folder, head, test_case, *arrays, report};
    try {
      run_case(context);
    } catch (const std::exception& error) {
      report.fail(context.name(), error.what());
    }
  }
  run_other_spelling(folder, head, report);
}

}  // namespace

extern const Suite kModelsSuite;
const Suite kModelsSuite = {"models", accepts, run};

}  // namespace golden
