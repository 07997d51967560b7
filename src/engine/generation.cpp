#include "engine/generation.h"

#include <fmt/core.h>

#include <cfloat>
#include <type_traits>

#include "base/error.h"

namespace linnet {
namespace {

constexpr double kInt = INT32_MAX;
constexpr double kMost = FLT_MAX;
constexpr double kBias = 1e6;  // a sum of biases and penalties stays finite

using Config = GenerationConfig;
constexpr NumberField kFields[] = {
    {"temperature", "", &Config::temperature, 0, kMost},
    {"top_k", "", &Config::top_k, 0, kInt},
    {"top_p", "", &Config::top_p, 0, 1, true},
    {"min_p", "", &Config::min_p, 0, 1},
    {"typical_p", "typ_p", &Config::typical_p, 0, 1, true},
    {"top_n_sigma", "", &Config::top_n_sigma, -1, kMost},
    {"epsilon_cutoff", "", &Config::epsilon_cutoff, 0, 1},
    {"eta_cutoff", "", &Config::eta_cutoff, 0, 1},
    {"xtc_probability", "", &Config::xtc_probability, 0, 1},
    {"xtc_threshold", "", &Config::xtc_threshold, 0, 1},
    {"dynatemp_range", "", &Config::dynatemp_range, 0, kMost},
    {"dynatemp_exponent", "", &Config::dynatemp_exponent, 0, kMost},
    {"mirostat", "", &Config::mirostat, 0, 2},
    {"mirostat_tau", "", &Config::mirostat_tau, 0, 100},
    {"mirostat_eta", "", &Config::mirostat_eta, 0, 1},
    {"repetition_penalty", "repeat_penalty", &Config::repetition_penalty, 0, kMost, true},
    {"presence_penalty", "", &Config::presence_penalty, -kBias, kBias},
    {"frequency_penalty", "", &Config::frequency_penalty, -kBias, kBias},
    {"dry_multiplier", "", &Config::dry_multiplier, 0, kBias},
    {"dry_base", "", &Config::dry_base, 1, kBias},
    {"dry_allowed_length", "", &Config::dry_allowed_length, 1, kInt},
    {"dry_range", "dry_penalty_last_n", &Config::dry_range, -1, kInt},
    {"no_repeat_ngram_size", "", &Config::no_repeat_ngram_size, 0, kInt},
    {"max_new_tokens", "max_tokens", &Config::max_new_tokens, -1, kInt},
    {"max_length", "", &Config::max_length, -1, kInt},
    {"min_new_tokens", "min_tokens", &Config::min_new_tokens, 0, kInt},
    {"min_length", "", &Config::min_length, 0, kInt},
};

}  // namespace

double NumberField::get(const GenerationConfig& config) const {
  return std::visit([&](const auto pointer) { return static_cast<double>(config.*pointer); },
                    member);
}

void NumberField::set(GenerationConfig& config, double value) const {
  std::visit(
      [&](const auto pointer) {
        using Value = std::remove_reference_t<decltype(config.*pointer)>;
        config.*pointer = static_cast<Value>(value);
      },
      member);
}

std::span<const NumberField> number_fields() { return kFields; }

const NumberField& number_field(std::string_view name) {
  for (const NumberField& field : kFields) {
    if (field.name == name) return field;
  }
  LINNET_CHECK(false, "no such field");
  return kFields[0];
}

void GenerationConfig::resolve_texts(const Tokenizer& tokenizer) {
  if (dry_multiplier <= 0) return;
  for (const std::string& text : dry_breaker_texts) {
    const std::size_t before = dry_breaker_ids.size();
    for (TokenId id = 0; id < tokenizer.size(); ++id) {
      if (tokenizer.token_bytes(id).find(text) != std::string_view::npos) {
        dry_breaker_ids.push_back(id);
      }
    }
    if (dry_breaker_ids.size() == before) {
      fail(ErrorCode::invalid_argument,
           fmt::format("dry_sequence_breakers: no token holds {}; give shorter texts",
                       json_quote(text)));
    }
  }
  dry_breaker_texts.clear();
}

std::optional<std::int64_t> GenerationConfig::new_token_limit(std::size_t prompt_length) const {
  if (max_new_tokens >= 0) return max_new_tokens;
  if (max_length < 0) return std::nullopt;
  const auto prompt = static_cast<std::int64_t>(prompt_length);
  if (prompt >= max_length) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the prompt has {} tokens, max_length is {}: raise it, or give max_new_tokens",
                     prompt, max_length));
  }
  return max_length - prompt;
}

}  // namespace linnet
