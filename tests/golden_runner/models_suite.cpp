#include "golden_runner/models_suite.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "golden_runner/blocks_suite.h"
#include "golden_runner/compare.h"
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
  LargestDifference largest;
  const auto arrays = linnet::SafetensorsFile::open(folder / "cases.safetensors");
  for (const Json& test_case : head.at("cases").as_array("cases")) {
    const CaseContext context{folder, head, test_case, *arrays, report, largest};
    try {
      run_case(context);
    } catch (const linnet::Error& error) {
      const std::string message = error.what();
      // What the native lane leaves to the reference lane on purpose.
      if (message.find("--lane reference") != std::string::npos) {
        report.skip(context.name(), message);
      } else {
        report.fail(context.name(), message);
      }
    } catch (const std::exception& error) {
      report.fail(context.name(), error.what());
    }
  }
  run_other_spelling(folder, head, report);
  if (!largest.name.empty()) {
    fmt::print("largest difference in {}: {:.2e} ({})\n", folder.filename().string(), largest.value,
               largest.name);
  }
}

}  // namespace

void CaseContext::judge(const std::string& field, std::span<const float> got,
                        std::span<const float> expected, std::span<const float> other) const {
  const std::string full_name = name() + "/" + field;
  const Tolerance tolerance = Tolerance::of(head, test_case);
  auto fault = difference(got, expected, tolerance);
  if (!other.empty() && !difference(got, other, tolerance)) {
    fault.reset();
    expected = other;
  }
  if (fault) return report.fail(full_name, *fault);
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Equal infinities and NaN have passed already.
    const double distance = std::fabs(static_cast<double>(got[i]) - expected[i]);
    if (distance > largest.value || largest.name.empty()) {
      largest.value = std::isfinite(distance) ? std::max(distance, largest.value) : largest.value;
      largest.name = full_name;
    }
  }
  report.pass(full_name);
}

extern const Suite kModelsSuite;
const Suite kModelsSuite = {"models", accepts, run};

}  // namespace golden
