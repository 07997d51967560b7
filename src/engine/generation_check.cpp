#include <fmt/core.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/utf8.h"
#include "engine/generation.h"

namespace linnet {
namespace {

constexpr float kMaxBias = 1e6f;  // a sum of biases and penalties stays finite
constexpr std::size_t kMaxListed = std::size_t{kMaxTokenId} + 1;

[[noreturn]] void refuse(std::string_view field, std::string_view expected, std::string found) {
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: expected {}, found {}", field, expected, found));
}

std::string range_text(const NumberField& field) {
  const bool is_open_high = field.high >= INT32_MAX;
  if (field.open_low) {
    return is_open_high ? fmt::format("a finite number above {}", field.low)
                        : fmt::format("above {} and at most {}", field.low, field.high);
  }
  return is_open_high ? fmt::format("a finite number of at least {}", field.low)
                      : fmt::format("{} to {}", field.low, field.high);
}

void check_numbers(const GenerationConfig& config) {
  for (const NumberField& field : number_fields()) {
    const double value = field.get(config);
    // Written so that NaN fails.
    const bool is_in = (field.open_low ? value > field.low : value >= field.low);
    if (!is_in || !(value <= field.high)) {
      refuse(field.name, range_text(field), fmt::format("{}", value));
    }
  }
}

void check_texts(std::string_view field, std::span<const std::string> texts) {
  for (const std::string& text : texts) {
    if (text.empty())
      fail(ErrorCode::invalid_argument, fmt::format("{}: a string is empty", field));
    if (const auto offset = find_invalid_utf8(text)) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: not valid UTF-8 at byte {} of a string", field, *offset));
    }
  }
}

void check_ids(std::string_view field, std::span<const TokenId> ids) {
  if (ids.size() > kMaxListed) {
    refuse(field, fmt::format("at most {} ids", kMaxListed), fmt::format("{}", ids.size()));
  }
  for (const TokenId id : ids) {
    if (id < 0 || id > kMaxTokenId) {
      refuse(field, fmt::format("ids of 0 to {}", kMaxTokenId), fmt::format("{}", id));
    }
  }
}

// A bias may be -infinity, which bans.
void check_biases(std::span<const SequenceBias> biases) {
  constexpr std::string_view field = "sequence_bias";
  std::size_t total = 0;
  for (const SequenceBias& bias : biases) {
    if (bias.ids.empty()) refuse(field, "sequences of ids", "an empty one");
    check_ids(field, bias.ids);
    total += bias.ids.size();
    if (bias.bias != -INFINITY && !(std::fabs(bias.bias) <= kMaxBias)) {
      refuse(field, fmt::format("a bias of {} to {}", -kMaxBias, kMaxBias),
             fmt::format("{}", bias.bias));
    }
  }
  if (total > kMaxListed) {
    refuse(field, fmt::format("at most {} ids", kMaxListed), fmt::format("{}", total));
  }
}

void check_lists(const GenerationConfig& config) {
  check_biases(config.sequence_bias);
  check_ids("stop_ids", config.stop_ids);
  check_texts("stop_strings", config.stop_strings);
  check_ids("dry_sequence_breakers", config.dry_breaker_ids);
  check_texts("dry_sequence_breakers", config.dry_breaker_texts);
  check_ids("suppress_tokens", config.suppress_tokens);
  check_ids("begin_suppress_tokens", config.begin_suppress_tokens);
  if (config.forced_bos) check_ids("forced_bos_token_id", {&*config.forced_bos, 1});
  check_ids("forced_eos_token_id", config.forced_eos);
  for (const ForcedToken& forced : config.forced_tokens) {
    check_ids("forced_token_ids", {&forced.id, 1});
  }
  const float factor = config.length_decay ? config.length_decay->factor : 1.0f;
  if (!(factor > 0 && std::isfinite(factor))) {
    refuse("exponential_decay_length_penalty", "a finite factor above 0",
           fmt::format("{}", factor));
  }
}

[[noreturn]] void contradict(std::string_view a, std::string_view b, std::string_view reason) {
  fail(ErrorCode::invalid_argument,
       fmt::format("{} and {} contradict each other: {}", a, b, reason));
}

void check_contradictions(const GenerationConfig& config) {
  constexpr std::string_view kOne = "give one of them";
  if (config.max_new_tokens >= 0 && config.max_length >= 0) {
    contradict("max_new_tokens", "max_length", kOne);
  }
  if (config.min_new_tokens > 0 && config.min_length > 0) {
    contradict("min_new_tokens", "min_length", kOne);
  }
  constexpr std::string_view kAbove = "the least is above the most";
  if (config.max_new_tokens >= 0 && config.min_new_tokens > config.max_new_tokens) {
    contradict("min_new_tokens", "max_new_tokens", kAbove);
  }
  if (config.max_length >= 0 && config.min_length > config.max_length) {
    contradict("min_length", "max_length", kAbove);
  }
  std::map<std::int64_t, TokenId> forced;
  for (const ForcedToken& token : config.forced_tokens) {
    const TokenId other = forced.try_emplace(token.index, token.id).first->second;
    if (other == token.id) continue;
    contradict(fmt::format("forced_token_ids {}", other), fmt::format("{}", token.id),
               fmt::format("both are for index {}", token.index));
  }
  if (config.mirostat == 0) return;
  for (const std::string_view name :
       {"top_k", "top_p", "min_p", "typical_p", "top_n_sigma", "epsilon_cutoff", "eta_cutoff",
        "xtc_probability", "dynatemp_range"}) {
    const NumberField& field = number_field(name);
    if (field.get(config) != field.get(GenerationConfig())) {
      contradict("mirostat", name, "mirostat chooses how many ids stay");
    }
  }
}

}  // namespace

void GenerationConfig::check() const {
  check_numbers(*this);
  check_lists(*this);
  check_contradictions(*this);
}

}  // namespace linnet
