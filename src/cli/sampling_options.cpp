#include "cli/sampling_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "base/json.h"

namespace linnet {
namespace {

// An option that is a number of the config.
struct NumberOption {
  const char* field;
  const char* option;
  const char* value;
  const char* help;
  bool draws = false;  // asking for it is asking for sampling
};

constexpr NumberOption kNumbers[] = {
    {"temperature", "temperature", "T", "randomness of the choice; 0: always the likeliest"},
    {"top_p", "top-p", "P", "choose among the likeliest tokens that together have this probability",
     true},
    {"top_k", "top-k", "K", "choose among this many likeliest tokens; 0: all", true},
    {"min_p", "min-p", "P", "leave out tokens less likely than this share of the likeliest", true},
    {"typical_p", "typical-p", "P", "choose among the most typical tokens of this probability",
     true},
    {"top_n_sigma", "top-n-sigma", "N", "leave out logits so many deviations below the best", true},
    {"epsilon_cutoff", "epsilon-cutoff", "P", "leave out tokens less likely than this", true},
    {"eta_cutoff", "eta-cutoff", "P", "the same, milder where many tokens are likely", true},
    {"xtc_probability", "xtc-probability", "P",
     "how often to leave out all likely tokens but the last of them", true},
    {"xtc_threshold", "xtc-threshold", "P", "how likely a token is that XTC leaves out"},
    {"dynatemp_range", "dynatemp-range", "R", "vary the temperature by so much with the entropy",
     true},
    {"dynatemp_exponent", "dynatemp-exponent", "E", "how the entropy maps to the temperature"},
    {"mirostat", "mirostat", "V", "1 or 2: hold the surprise instead of filtering", true},
    {"mirostat_tau", "mirostat-tau", "BITS", "the surprise that mirostat holds"},
    {"mirostat_eta", "mirostat-eta", "RATE", "how fast mirostat learns"},
    {"repetition_penalty", "repetition-penalty", "R",
     "above 1: makes tokens that were used before less likely"},
    {"presence_penalty", "presence-penalty", "R", "taken from tokens that the answer has used"},
    {"frequency_penalty", "frequency-penalty", "R", "the same, for every time"},
    {"dry_multiplier", "dry-multiplier", "R", "taken from tokens that would lengthen a repetition"},
    {"dry_base", "dry-base", "B", "grows that with the length of the repetition"},
    {"dry_allowed_length", "dry-allowed-length", "N", "repetitions shorter than this are free"},
    {"dry_range", "dry-range", "N", "look for repetitions in so many last tokens; -1: in all"},
    {"no_repeat_ngram_size", "no-repeat-ngram", "N", "never repeat so many tokens in a row"},
    {"min_new_tokens", "min-tokens", "N", "tokens to answer with at least"},
    {"max_new_tokens", "max-tokens", "N",
     "tokens to answer with at most (default: until the context is full)"},
};

bool is_whole(const NumberField& field) {
  return std::holds_alternative<std::int64_t GenerationConfig::*>(field.member);
}

OptionSetter to_field(SamplingOptions& target, const NumberField& field) {
  const std::string name(field.name);
  const NumberRange range{field.low, field.high >= FLT_MAX ? INFINITY : field.high, field.open_low};
  if (!is_whole(field)) {
    return [&target, name, range](const std::string& text) {
      target.numbers[name] = parse_number(text, range);
    };
  }
  // No answer at all is for programs, not for people.
  const auto low = name == "max_new_tokens" ? 1 : static_cast<std::int64_t>(field.low);
  const IntegerRange whole{low, std::numeric_limits<std::int32_t>::max()};
  return [&target, name, whole](const std::string& text) {
    target.numbers[name] = static_cast<double>(parse_integer(text, whole));
  };
}

// "1234=-2.5", or "1234=false" for never.
SequenceBias parse_logit_bias(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw UsageError("expected ID=BIAS, found " + json_quote(text));
  const auto id = static_cast<TokenId>(parse_integer(text.substr(0, equals), {0, kMaxTokenId}));
  const std::string bias = text.substr(equals + 1);
  if (bias == "false") return {{id}, -INFINITY};
  return {{id}, parse_number(bias, {-1e6, 1e6})};
}

void forget(SamplingOptions& target, const std::string& name) {
  for (const NumberOption& number : kNumbers) {
    if (setting_of(number.option) == name) target.numbers.erase(number.field);
  }
  if (name == "seed") target.seed.reset();
  if (name == "stop") target.stop.clear();
  if (name == "logit_bias") target.logit_bias.clear();
  if (name == "dry_breaker") target.dry_breakers.clear();
}

// Filters that the model's defaults have contradict a mirostat that was asked for.
void drop_filters(GenerationConfig& config, const SamplingOptions& options) {
  const GenerationConfig off;
  for (const NumberOption& number : kNumbers) {
    if (!number.draws || options.numbers.contains(number.field)) continue;
    const NumberField& field = number_field(number.field);
    field.set(config, field.get(off));
  }
}

std::string number_text(const NumberField& field, double value) {
  if (field.name == "max_new_tokens" && value < 0) return "until full";
  return is_whole(field) ? fmt::format("{:.0f}", value)
                         : fmt::format("{}", static_cast<float>(value));
}

std::string quoted(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : " ") + json_quote(text);
  return all.empty() ? "none" : all;
}

}  // namespace

std::string setting_of(std::string option) {
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

GenerationConfig SamplingOptions::applied_to(GenerationConfig defaults) const {
  GenerationConfig config = std::move(defaults);
  for (const auto& [name, value] : numbers) number_field(name).set(config, value);
  const auto temperature = numbers.find("temperature");
  if (temperature != numbers.end()) config.sample = temperature->second > 0;
  for (const NumberOption& number : kNumbers) {
    if (!number.draws || temperature != numbers.end()) continue;
    if (numbers.contains(number.field)) config.sample = true;
  }
  if (config.mirostat > 0) drop_filters(config, *this);
  // Of a pair the one that was set counts.
  if (numbers.contains("max_new_tokens")) config.max_length = -1;
  if (numbers.contains("min_new_tokens")) config.min_length = 0;
  if (seed) config.seed = seed;
  config.stop_strings.insert(config.stop_strings.end(), stop.begin(), stop.end());
  config.sequence_bias.insert(config.sequence_bias.end(), logit_bias.begin(), logit_bias.end());
  if (!dry_breakers.empty()) {
    config.dry_breaker_texts = dry_breakers;
    config.dry_breaker_ids.clear();
  } else if (config.dry_breaker_texts.empty() && config.dry_breaker_ids.empty()) {
    config.dry_breaker_texts = {"\n", ":", "\"", "*"};  // llama.cpp's
  }
  return config;
}

std::vector<Option> sampling_option_table(SamplingOptions& target) {
  std::vector<Option> options;
  for (const NumberOption& number : kNumbers) {
    options.push_back({.name = number.option,
                       .value = number.value,
                       .help = number.help,
                       .set = to_field(target, number_field(number.field))});
  }
  options.push_back({.name = "greedy",
                     .help = "always choose the likeliest token (temperature 0)",
                     .excludes = "temperature",
                     .set = [&target](const std::string& text) {
                       if (parse_bool(text)) target.numbers["temperature"] = 0;
                     }});
  options.push_back({.name = "logit-bias",
                     .value = "ID=BIAS",
                     .help = "added to a token's logit; ID=false: never choose it",
                     .repeatable = true,
                     .set = [&target](const std::string& text) {
                       target.logit_bias.push_back(parse_logit_bias(text));
                     }});
  options.push_back({.name = "dry-breaker",
                     .value = "TEXT",
                     .help = "DRY sees no repetition over this text (default: \\n : \" *)",
                     .repeatable = true,
                     .set = [&target](const std::string& text) {
                       if (text.empty()) throw UsageError("expected a text, found an empty one");
                       to_list(target.dry_breakers)(text);
                     }});
  options.push_back({.name = "seed",
                     .value = "N",
                     .help = "the same seed gives the same answer",
                     .set = to_seed(target.seed)});
  options.push_back({.name = "stop",
                     .value = "TEXT",
                     .help = "end the answer before this text",
                     .repeatable = true,
                     .set = [&target](const std::string& text) {
                       if (text.empty()) throw UsageError("expected a text, found an empty one");
                       to_list(target.stop)(text);
                     }});
  return options;
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
  const auto line = [&](const std::string& name, const std::string& value, bool is_set) {
    text += fmt::format("{:<20}{}{}\n", name, value, is_set ? "" : "  (default)");
  };
  for (const NumberOption& number : kNumbers) {
    const NumberField& field = number_field(number.field);
    const bool is_greedy = field.name == "temperature" && !config.sample;
    line(setting_of(number.option), is_greedy ? "0" : number_text(field, field.get(config)),
         options.numbers.contains(number.field));
  }
  std::vector<std::string> biases;
  for (const SequenceBias& bias : options.logit_bias) {
    biases.push_back(fmt::format("{}={}", bias.ids[0], bias.bias));
  }
  line("logit_bias", quoted(biases), !biases.empty());
  line("dry_breaker", quoted(config.dry_breaker_texts), !options.dry_breakers.empty());
  line("seed", config.seed ? fmt::format("{}", *config.seed) : "from the clock",
       options.seed.has_value());
  line("stop", quoted(config.stop_strings), !options.stop.empty());
  return text;
}

}  // namespace linnet
