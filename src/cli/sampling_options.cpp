#include "cli/sampling_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/json.h"

namespace linnet {
namespace {

constexpr NumberRange kTemperature{0, 100};
constexpr NumberRange kTopP{0, 1, true};
constexpr NumberRange kMinP{0, 1};
constexpr NumberRange kPenalty{0, 100, true};
constexpr IntegerRange kTopK{0, std::numeric_limits<std::int32_t>::max()};
constexpr IntegerRange kMaxTokens{1, std::numeric_limits<std::int32_t>::max()};

std::string value_text(float value) { return fmt::format("{}", value); }

void forget(SamplingOptions& target, const std::string& name) {
  if (name == "temperature") target.temperature.reset();
  if (name == "top_p") target.top_p.reset();
  if (name == "top_k") target.top_k.reset();
  if (name == "min_p") target.min_p.reset();
  if (name == "repetition_penalty") target.repetition_penalty.reset();
  if (name == "seed") target.seed.reset();
  if (name == "max_tokens") target.max_tokens.reset();
  if (name == "stop") target.stop.clear();
}

}  // namespace

std::string setting_of(std::string option) {
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

GenerationConfig SamplingOptions::applied_to(GenerationConfig defaults) const {
  GenerationConfig config = std::move(defaults);
  if (temperature) {
    config.temperature = *temperature;
    config.sample = *temperature > 0;
  }
  if (top_p) config.top_p = *top_p;
  if (top_k) config.top_k = *top_k;
  if (min_p) config.min_p = *min_p;
  // Asking for a way of choosing is asking for sampling.
  if ((top_p || top_k || min_p) && !temperature) config.sample = true;
  if (repetition_penalty) config.repetition_penalty = *repetition_penalty;
  if (seed) config.seed = seed;
  if (max_tokens) config.max_new_tokens = *max_tokens;
  config.stop_strings.insert(config.stop_strings.end(), stop.begin(), stop.end());
  return config;
}

std::vector<Option> sampling_option_table(SamplingOptions& target) {
  return {
      {.name = "temperature",
       .value = "T",
       .help = "randomness of the choice; 0: always the likeliest",
       .set = to_number(target.temperature, kTemperature)},
      {.name = "greedy",
       .help = "always choose the likeliest token (temperature 0)",
       .excludes = "temperature",
       .set =
           [&target](const std::string& text) {
             if (parse_bool(text)) target.temperature = 0;
           }},
      {.name = "top-p",
       .value = "P",
       .help = "choose among the likeliest tokens that together have this probability",
       .set = to_number(target.top_p, kTopP)},
      {.name = "top-k",
       .value = "K",
       .help = "choose among this many likeliest tokens; 0: all",
       .set = to_integer(target.top_k, kTopK)},
      {.name = "min-p",
       .value = "P",
       .help = "leave out tokens less likely than this share of the likeliest",
       .set = to_number(target.min_p, kMinP)},
      {.name = "repetition-penalty",
       .value = "R",
       .help = "above 1: makes tokens that were used before less likely",
       .set = to_number(target.repetition_penalty, kPenalty)},
      {.name = "seed",
       .value = "N",
       .help = "the same seed gives the same answer",
       .set = to_seed(target.seed)},
      {.name = "max-tokens",
       .value = "N",
       .help = "tokens to answer with at most (default: until the context is full)",
       .set = to_integer(target.max_tokens, kMaxTokens)},
      {.name = "stop",
       .value = "TEXT",
       .help = "end the answer before this text",
       .repeatable = true,
       .set =
           [&target](const std::string& text) {
             if (text.empty()) throw UsageError("expected a text, found an empty one");
             to_list(target.stop)(text);
           }},
  };
}

std::vector<std::string> setting_names() {
  SamplingOptions ignored;
  std::vector<std::string> names;
  for (const Option& option : sampling_option_table(ignored)) {
    if (!option.is_switch()) names.push_back(setting_of(option.name));
  }
  return names;
}

bool change_setting(SamplingOptions& target, const std::string& name, const std::string& value) {
  for (const Option& option : sampling_option_table(target)) {
    if (option.is_switch() || setting_of(option.name) != setting_of(name)) continue;
    if (value == "default") {
      forget(target, setting_of(name));
    } else {
      set_named(option.set, value, setting_of(name));
    }
    return true;
  }
  return false;
}

std::string settings_text(const SamplingOptions& options, const GenerationConfig& defaults) {
  const GenerationConfig config = options.applied_to(defaults);
  std::string text;
  const auto line = [&](const char* name, const std::string& value, bool is_set) {
    text += fmt::format("{:<20}{}{}\n", name, value, is_set ? "" : "  (default)");
  };
  line("temperature", config.sample ? value_text(config.temperature) : "0",
       options.temperature.has_value());
  line("top_p", config.top_p < 1 ? value_text(config.top_p) : "off", options.top_p.has_value());
  line("top_k", config.top_k > 0 ? fmt::format("{}", config.top_k) : "off",
       options.top_k.has_value());
  line("min_p", value_text(config.min_p), options.min_p.has_value());
  line("repetition_penalty", value_text(config.repetition_penalty),
       options.repetition_penalty.has_value());
  line("seed", config.seed ? fmt::format("{}", *config.seed) : "from the clock",
       options.seed.has_value());
  line("max_tokens",
       config.max_new_tokens > 0 ? fmt::format("{}", config.max_new_tokens) : "until full",
       options.max_tokens.has_value());
  std::string stops;
  for (const std::string& stop : config.stop_strings) {
    stops += (stops.empty() ? "" : " ") + json_quote(stop);
  }
  line("stop", stops.empty() ? "none" : stops, !options.stop.empty());
  return text;
}

}  // namespace linnet
