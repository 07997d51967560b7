// Reference values as data, and what a model makes of them. The published ones are a table of the
// same form as the file that `linnet verify --reference` reads:
//
//   [{"model": "for people", "match": {"hidden_size": 32, ...}, "source": "for people",
//     "cases": [{"name", "ids": [...], "tolerance": 1e-4,
//                one of "values": [[...]] with "rows" and "columns",
//                       "means": [...] with "rows", over each row's outputs,
//                       "tokens": [...] or "one_of": [[...], ...], greedy after the ids,
//                                 with "skip": n left unchecked before them}]}]
//
// "repeat": {"ids": [...], "times": n} makes a long input: they follow the ids so often.
// A value passes when |found - expected| <= tolerance + tolerance * |expected|.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/model.h"

namespace linnet {

struct VerifyCase {
  std::string name;
  std::vector<std::int32_t> ids;
  double tolerance = 1e-4;
  std::vector<std::int32_t> rows;                 // of the output, by position
  std::vector<std::int64_t> columns;              // empty: the mean over all
  std::vector<double> expected;                   // [rows, columns], or [rows]
  std::vector<std::vector<std::int32_t>> tokens;  // greedy continuations that are right
  std::size_t skip = 0;                           // tokens made before those
};

struct VerifySet {
  std::string model;
  std::string source;
  Json match;  // fields that the config must have, with these values; may be null
  std::vector<VerifyCase> cases;

  bool matches(const Json& config) const;
};

// `name` begins messages. Error{invalid_argument} naming the field.
std::vector<VerifySet> read_verify_sets(const Json& json, const std::string& name);
// The values that the makers of models and of other runtimes have published.
std::vector<VerifySet> published_verify_sets();

struct VerifyResult {
  std::string name;
  bool passed = false;
  double largest_difference = 0;  // of the values
  std::string detail;             // one phrase
};
// Error{invalid_argument} when ids, rows or columns are not the model's.
VerifyResult run_verify_case(const Model& model, const VerifyCase& verify);

}  // namespace linnet
