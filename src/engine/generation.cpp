#include "engine/generation.h"

#include <fmt/core.h>

#include <cfloat>
#include <cmath>

#include "base/error.h"
#include "base/utf8.h"
#include "engine/stop_rules.h"

namespace linnet {
namespace {

// A member that is there and not null.
const Json* given(const Json& config, std::string_view field) {
  const Json* value = config.find(field);
  return value == nullptr || value->is_null() ? nullptr : value;
}

float number(const Json& value, std::string_view field) {
  const double wide = value.as_double(field);
  // Out of float's range: infinite, which check() refuses.
  if (std::fabs(wide) > FLT_MAX) return wide > 0 ? INFINITY : -INFINITY;
  return static_cast<float>(wide);
}

std::vector<TokenId> stop_ids_of(const Json& value) {
  constexpr std::string_view kField = "eos_token_id";
  std::vector<TokenId> ids;
  const auto add = [&](const Json& id) {
    ids.push_back(static_cast<TokenId>(id.as_int_in(0, kMaxTokenId, kField)));
  };
  if (value.is_array()) {
    for (const Json& id : value.as_array()) add(id);
  } else {
    add(value);
  }
  return stop_id_union(ids, {});
}

std::vector<std::string> stop_strings_of(const Json& value) {
  constexpr std::string_view kField = "stop_strings";
  if (value.is_string()) return {value.as_string()};
  std::vector<std::string> strings;
  for (const Json& text : value.as_array(kField)) strings.push_back(text.as_string(kField));
  return strings;
}

void require(bool holds, std::string_view field, double value, std::string_view range) {
  if (holds) return;
  fail(ErrorCode::invalid_argument, fmt::format("{}: expected {}, found {}", field, range, value));
}

}  // namespace

GenerationConfig GenerationConfig::from_json(const Json& config) {
  GenerationConfig out;
  if (config.is_null()) return out;
  config.as_object("generation config");
  if (const Json* v = given(config, "do_sample")) out.sample = v->as_bool("do_sample");
  if (const Json* v = given(config, "temperature")) out.temperature = number(*v, "temperature");
  if (const Json* v = given(config, "top_k")) out.top_k = v->as_int("top_k");
  if (const Json* v = given(config, "top_p")) out.top_p = number(*v, "top_p");
  if (const Json* v = given(config, "min_p")) out.min_p = number(*v, "min_p");
  if (const Json* v = given(config, "repetition_penalty")) {
    out.repetition_penalty = number(*v, "repetition_penalty");
  }
  if (const Json* v = given(config, "max_new_tokens")) {
    out.max_new_tokens = v->as_int_in(0, INT64_MAX, "max_new_tokens");
  }
  if (const Json* v = given(config, "eos_token_id")) out.stop_ids = stop_ids_of(*v);
  if (const Json* v = given(config, "stop_strings")) out.stop_strings = stop_strings_of(*v);
  out.check();
  return out;
}

void GenerationConfig::check() const {
  // Written so that NaN fails.
  require(temperature >= 0 && std::isfinite(temperature), "temperature", temperature,
          "a finite number of at least 0");
  require(top_k >= 0, "top_k", static_cast<double>(top_k), "at least 0 (0: off)");
  if (top_p) require(*top_p > 0 && *top_p <= 1, "top_p", *top_p, "above 0 and at most 1");
  require(min_p >= 0 && min_p <= 1, "min_p", min_p, "0 to 1");
  require(repetition_penalty > 0 && std::isfinite(repetition_penalty), "repetition_penalty",
          repetition_penalty, "a finite number above 0");
  require(max_new_tokens >= -1, "max_new_tokens", static_cast<double>(max_new_tokens),
          "at least 0, or -1 for no limit");
  for (const TokenId id : stop_ids) require(id >= 0, "stop_ids", id, "ids of at least 0");
  for (const std::string& text : stop_strings) {
    if (text.empty()) fail(ErrorCode::invalid_argument, "stop_strings: a string is empty");
    if (const auto offset = find_invalid_utf8(text)) {
      fail(ErrorCode::invalid_argument,
           fmt::format("stop_strings: not valid UTF-8 at byte {} of a string", *offset));
    }
  }
}

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::cancelled:
      return "cancelled";
  }
  return "unknown";
}

double GenerationResult::prefill_rate() const {
  const auto computed = static_cast<double>(prompt_tokens - cached_tokens);
  return prefill_seconds > 0 ? computed / prefill_seconds : 0;
}

double GenerationResult::decode_rate() const {
  // The first token comes from the prompt's logits.
  if (ids.size() < 2 || decode_seconds <= 0) return 0;
  return static_cast<double>(ids.size() - 1) / decode_seconds;
}

}  // namespace linnet
