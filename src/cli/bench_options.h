// What every subject of `linnet bench` is given, and how its results are summed up.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"

namespace linnet {

struct BenchOptions {
  std::string subject;
  std::vector<std::string> texts;  // paths
  std::int64_t runs = 5;
  std::int64_t context = 4096;  // model: tokens of the long prompt
  std::string save;             // model: a file for the JSON record
  bool json = false;
};

struct Spread {
  double min = 0;
  double median = 0;
  double max = 0;
};

// Of one value at least.
Spread spread_of(std::vector<double> values);
// The seconds of each of `runs` calls.
std::vector<double> time_runs(std::int64_t runs, const std::function<void()>& call);
// `work` over each of the times.
std::vector<double> rates(double work, const std::vector<double>& seconds);
Json spread_json(const Spread& spread);  // {"min", "median", "max"}

}  // namespace linnet
