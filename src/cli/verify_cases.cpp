#include "cli/verify_cases.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"

namespace linnet {
namespace {

constexpr std::int64_t kMostPositions = 1 << 16;
constexpr std::int64_t kLargestId = 1 << 24;

[[noreturn]] void refuse(const std::string& where, std::string_view why) {
  fail(ErrorCode::invalid_argument, fmt::format("{}: {}", where, why));
}

std::vector<std::int32_t> read_ids(const Json& value, const std::string& where) {
  std::vector<std::int32_t> ids;
  for (const Json& id : value.as_array(where)) {
    ids.push_back(static_cast<std::int32_t>(id.as_int_in(0, kLargestId, where)));
  }
  if (ids.empty() || static_cast<std::int64_t>(ids.size()) > kMostPositions) {
    refuse(where, fmt::format("{} numbers, expected 1 to {}", ids.size(), kMostPositions));
  }
  return ids;
}

void append_repeated(const Json& repeat, const std::string& where, VerifyCase& verify) {
  const std::vector<std::int32_t> ids = read_ids(repeat.at("ids"), where + ".ids");
  const std::int64_t times = repeat.at("times").as_int_in(1, kMostPositions, where + ".times");
  const auto length = static_cast<std::int64_t>(ids.size());
  if (static_cast<std::int64_t>(verify.ids.size()) + length * times > kMostPositions) {
    refuse(where, fmt::format("more than {} ids", kMostPositions));
  }
  for (std::int64_t i = 0; i < times; ++i) {
    verify.ids.insert(verify.ids.end(), ids.begin(), ids.end());
  }
}

void append_numbers(const Json& value, const std::string& where, std::vector<double>& numbers) {
  for (const Json& number : value.as_array(where)) numbers.push_back(number.as_double(where));
}

void read_values(const Json& json, const std::string& where, VerifyCase& verify) {
  for (const std::int32_t column : read_ids(json.at("columns"), where + ".columns")) {
    verify.columns.push_back(column);
  }
  for (const Json& row : json.at("values").as_array(where + ".values")) {
    append_numbers(row, where + ".values", verify.expected);
  }
  if (verify.expected.size() != verify.rows.size() * verify.columns.size()) {
    refuse(where, fmt::format("{} values for {} rows of {} columns", verify.expected.size(),
                              verify.rows.size(), verify.columns.size()));
  }
}

VerifyCase read_case(const Json& json, const std::string& where) {
  VerifyCase verify;
  verify.name = json.at("name").as_string(where + ".name");
  verify.ids = read_ids(json.at("ids"), where + ".ids");
  if (const Json* repeat = json.find("repeat")) {
    append_repeated(*repeat, where + ".repeat", verify);
  }
  if (const Json* skip = json.find("skip")) {
    verify.skip = static_cast<std::size_t>(skip->as_int_in(0, kMostPositions, where + ".skip"));
  }
  if (const Json* tolerance = json.find("tolerance")) {
    verify.tolerance = tolerance->as_double(where + ".tolerance");
  }
  if (!(verify.tolerance >= 0)) refuse(where + ".tolerance", "must not be negative");
  if (const Json* tokens = json.find("tokens")) {
    verify.tokens.push_back(read_ids(*tokens, where + ".tokens"));
  } else if (const Json* choices = json.find("one_of")) {
    for (const Json& choice : choices->as_array(where + ".one_of")) {
      verify.tokens.push_back(read_ids(choice, where + ".one_of"));
    }
    if (verify.tokens.empty()) refuse(where + ".one_of", "must not be empty");
  } else {
    verify.rows = read_ids(json.at("rows"), where + ".rows");
    if (const Json* means = json.find("means")) {
      append_numbers(*means, where + ".means", verify.expected);
      if (verify.expected.size() != verify.rows.size()) refuse(where, "one mean for each row");
    } else {
      read_values(json, where, verify);
    }
  }
  return verify;
}

std::vector<float> run(const Model& model, KvCache& cache, std::span<const std::int32_t> ids,
                       std::int32_t first, std::span<const std::int32_t> selected) {
  std::vector<std::int32_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), first);
  const SequenceRows sequence{&cache, static_cast<std::int64_t>(ids.size())};
  Batch batch;
  batch.tokens = ids;
  batch.positions = positions;
  batch.sequences = {&sequence, 1};
  batch.selected = selected;
  return model.run(batch);
}

void check_input(const Model& model, const VerifyCase& verify) {
  const std::int64_t vocab = model.config().vocab;
  for (const std::int32_t id : verify.ids) {
    if (id >= vocab) refuse(verify.name, fmt::format("the id {} is none of {}", id, vocab));
  }
  for (const std::int32_t row : verify.rows) {
    if (static_cast<std::size_t>(row) >= verify.ids.size()) {
      refuse(verify.name, fmt::format("the row {} is none of {}", row, verify.ids.size()));
    }
  }
}

// [rows, columns], or the mean of each row.
std::vector<double> found_values(const Model& model, const VerifyCase& verify) {
  KvCache cache = model.make_cache();
  const std::vector<float> outputs = run(model, cache, verify.ids, 0, verify.rows);
  const std::size_t width = outputs.size() / verify.rows.size();
  std::vector<double> found;
  for (std::size_t row = 0; row < verify.rows.size(); ++row) {
    const auto begin = outputs.begin() + static_cast<std::ptrdiff_t>(row * width);
    if (verify.columns.empty()) {
      const double sum = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(width), 0.0);
      found.push_back(sum / static_cast<double>(width));
    }
    for (const std::int64_t column : verify.columns) {
      if (static_cast<std::size_t>(column) >= width) {
        refuse(verify.name, fmt::format("the column {} is none of {}", column, width));
      }
      found.push_back(static_cast<double>(begin[column]));
    }
  }
  return found;
}

VerifyResult compare_values(const Model& model, const VerifyCase& verify) {
  const std::vector<double> found = found_values(model, verify);
  VerifyResult result{verify.name, true};
  std::size_t wrong = 0, worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(found[i] - verify.expected[i]);
    const double allowed = verify.tolerance * (1 + std::abs(verify.expected[i]));
    if (!(difference <= allowed)) ++wrong;  // NaN is wrong too
    if (!(difference <= result.largest_difference)) {
      result.largest_difference = difference;
      worst = i;
    }
  }
  result.passed = wrong == 0;
  result.detail =
      fmt::format("{} values, largest difference {:.2g}", found.size(), result.largest_difference);
  if (wrong > 0) {
    result.detail += fmt::format(" (found {:.6g}, expected {:.6g}), {} outside of {:g}",
                                 found[worst], verify.expected[worst], wrong, verify.tolerance);
  }
  return result;
}

VerifyResult compare_tokens(const Model& model, const VerifyCase& verify) {
  std::size_t length = 0;
  for (const auto& tokens : verify.tokens) length = std::max(length, verify.skip + tokens.size());
  KvCache cache = model.make_cache();
  std::vector<std::int32_t> rows = verify.ids, found;
  std::int32_t position = 0;
  while (found.size() < length) {
    const std::int32_t last = static_cast<std::int32_t>(rows.size()) - 1;
    const std::vector<float> logits = run(model, cache, rows, position, {&last, 1});
    position += static_cast<std::int32_t>(rows.size());
    found.push_back(
        static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    rows = {found.back()};
  }
  VerifyResult result{verify.name};
  const std::span checked = std::span(found).subspan(verify.skip);
  for (const auto& tokens : verify.tokens) {
    result.passed = result.passed || std::equal(tokens.begin(), tokens.end(), checked.begin());
  }
  result.detail = result.passed
                      ? fmt::format("{} greedy tokens as expected", length - verify.skip)
                      : fmt::format("greedy tokens {}, expected {}", fmt::join(checked, " "),
                                    fmt::join(verify.tokens.front(), " "));
  return result;
}

}  // namespace

bool VerifySet::matches(const Json& config) const {
  if (match.is_null()) return true;
  for (const auto& [key, value] : match.as_object("match")) {
    const Json* found = config.find(key);
    if (found == nullptr || !(*found == value)) return false;
  }
  return true;
}

std::vector<VerifySet> read_verify_sets(const Json& json, const std::string& name) {
  std::vector<VerifySet> sets;
  for (const Json& item : json.as_array(name)) {
    const std::string where = fmt::format("{}: [{}]", name, sets.size());
    VerifySet set;
    set.model = item.at("model").as_string(where + ".model");
    if (const Json* source = item.find("source")) set.source = source->as_string(where + ".source");
    if (const Json* match = item.find("match")) {
      match->as_object(where + ".match");
      set.match = *match;
    }
    for (const Json& entry : item.at("cases").as_array(where + ".cases")) {
      set.cases.push_back(read_case(entry, fmt::format("{}.cases[{}]", where, set.cases.size())));
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

VerifyResult run_verify_case(const Model& model, const VerifyCase& verify) {
  check_input(model, verify);
  return verify.tokens.empty() ? compare_values(model, verify) : compare_tokens(model, verify);
}

}  // namespace linnet
