#include "cli/bench_options.h"

#include <algorithm>

#include "base/clock.h"

namespace linnet {

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const bool even = values.size() % 2 == 0;
  const double median = even ? (values[middle - 1] + values[middle]) / 2 : values[middle];
  return {values.front(), median, values.back()};
}

std::vector<double> time_runs(std::int64_t runs, const std::function<void()>& call) {
  std::vector<double> seconds;
  for (std::int64_t run = 0; run < runs; ++run) {
    const auto start = Clock::now();
    call();
    seconds.push_back(seconds_since(start));
  }
  return seconds;
}

std::vector<double> rates(double work, const std::vector<double>& seconds) {
  std::vector<double> out;
  // A clock that stood still counts as its smallest step.
  for (const double each : seconds) out.push_back(work / std::max(each, 1e-9));
  return out;
}

Json spread_json(const Spread& spread) {
  Json json = Json::object();
  json.set("min", spread.min);
  json.set("median", spread.median);
  json.set("max", spread.max);
  return json;
}

}  // namespace linnet
