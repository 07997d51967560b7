// How answers are sampled: the options of `run` and `chat`, and the names of /set. Only what was
// set replaces the model's own defaults.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/options.h"
#include "engine/generation.h"

namespace linnet {

struct SamplingOptions {
  std::map<std::string, double, std::less<>> numbers;  // by the names of number_fields()
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stop;
  std::vector<SequenceBias> logit_bias;
  std::vector<std::string> dry_breakers;

  // The config still has texts to be resolved where DRY is on (GenerationConfig::resolve_texts).
  GenerationConfig applied_to(GenerationConfig defaults) const;
};

// --temperature, --top-p, ... and --greedy. The options write to `target`.
std::vector<Option> sampling_option_table(SamplingOptions& target);

// The name of /set for an option: "max_tokens" for "max-tokens".
std::string setting_of(std::string option);
// Names of /set, as users type them: "top_p".
std::vector<std::string> setting_names();
// Sets one by name; "default" goes back to the model's value. UsageError for a wrong value;
// false for an unknown name.
bool change_setting(SamplingOptions& target, const std::string& name, const std::string& value);
// "temperature 0.6 (default)\n..." as the options and the defaults together have it.
std::string settings_text(const SamplingOptions& options, const GenerationConfig& defaults);

}  // namespace linnet
