#include <fmt/core.h>

#include <cfloat>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "engine/generation.h"
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

TokenId id_of(const Json& value, std::string_view field) {
  return static_cast<TokenId>(value.as_int_in(0, kMaxTokenId, field));
}

// One id, or a list.
std::vector<TokenId> ids_of(const Json& value, std::string_view field) {
  if (!value.is_array()) return {id_of(value, field)};
  std::vector<TokenId> ids;
  for (const Json& id : value.as_array()) ids.push_back(id_of(id, field));
  return ids;
}

// A list of two things, such as [[12, 7], 0.5].
const Json::Array& pair_of(const Json& value, std::string_view field) {
  const Json::Array& pair = value.as_array(field);
  if (pair.size() == 2) return pair;
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: expected pairs, found a list of {}", field, pair.size()));
}

std::vector<std::string> texts_of(const Json& value, std::string_view field) {
  if (value.is_string()) return {value.as_string()};
  std::vector<std::string> strings;
  for (const Json& text : value.as_array(field)) strings.push_back(text.as_string(field));
  return strings;
}

// All 64 bits; also as a string, since many JSON readers keep 53 bits of a number.
std::uint64_t seed_of(const Json& value) {
  const std::string digits = value.is_string()      ? value.as_string()
                             : value.is_large_int() ? value.large_digits()
                                                    : fmt::format("{}", value.as_int("seed"));
  std::uint64_t seed = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, seed);
  if (parsed.ec == std::errc() && parsed.ptr == end) return seed;
  fail(ErrorCode::invalid_argument,
       fmt::format("seed: expected a whole number of 0 to {}, found {}", UINT64_MAX,
                   json_quote(digits)));
}

// {"12": -1.5, "7": false} as OpenAI has it, or [[12, -1.5], [7, false]] as llama.cpp does; false
// bans the id.
void read_logit_bias(const Json& value, std::vector<SequenceBias>& biases) {
  constexpr std::string_view kField = "logit_bias";
  const auto add = [&](TokenId id, const Json& bias) {
    const bool is_ban = bias.is_bool() && !bias.as_bool();
    biases.push_back({{id}, is_ban ? -INFINITY : number(bias, kField)});
  };
  if (value.is_array()) {
    for (const Json& item : value.as_array()) {
      const Json::Array& pair = pair_of(item, kField);
      add(id_of(pair[0], kField), pair[1]);
    }
    return;
  }
  for (const auto& [key, bias] : value.as_object(kField)) {
    std::int64_t id = -1;
    const auto end = std::from_chars(key.data(), key.data() + key.size(), id);
    if (end.ec != std::errc() || end.ptr != key.data() + key.size()) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: expected token ids, found {}", kField, json_quote(key)));
    }
    add(id_of(Json(id), kField), bias);
  }
}

void read_lists(const Json& config, GenerationConfig& out) {
  for (const std::string_view name : {"stop_strings", "stop"}) {
    if (const Json* v = given(config, name)) out.stop_strings = texts_of(*v, name);
  }
  const auto ids = [&](std::string_view name, std::vector<TokenId>& to) {
    if (const Json* v = given(config, name)) to = ids_of(*v, name);
  };
  ids("eos_token_id", out.stop_ids);
  out.stop_ids = stop_id_union(out.stop_ids, {});
  ids("suppress_tokens", out.suppress_tokens);
  ids("begin_suppress_tokens", out.begin_suppress_tokens);
  ids("forced_eos_token_id", out.forced_eos);
  if (const Json* v = given(config, "forced_bos_token_id")) {
    out.forced_bos = id_of(*v, "forced_bos_token_id");
  }
  for (const std::string_view name : {"forced_token_ids", "forced_decoder_ids"}) {
    const Json* v = given(config, name);
    if (v == nullptr) continue;
    for (const Json& item : v->as_array(name)) {
      const Json::Array& pair = pair_of(item, name);
      out.forced_tokens.push_back({pair[0].as_int_in(0, INT32_MAX, name), id_of(pair[1], name)});
    }
  }
  if (const Json* v = given(config, "exponential_decay_length_penalty")) {
    const Json::Array& pair = pair_of(*v, "exponential_decay_length_penalty");
    out.length_decay = {pair[0].as_int_in(0, INT32_MAX, "exponential_decay_length_penalty"),
                        number(pair[1], "exponential_decay_length_penalty")};
  }
}

void read_sequences(const Json& config, GenerationConfig& out) {
  if (const Json* v = given(config, "logit_bias")) read_logit_bias(*v, out.sequence_bias);
  if (const Json* v = given(config, "sequence_bias")) {
    for (const Json& item : v->as_array("sequence_bias")) {
      const Json::Array& pair = pair_of(item, "sequence_bias");
      out.sequence_bias.push_back(
          {ids_of(pair[0], "sequence_bias"), number(pair[1], "sequence_bias")});
    }
  }
  if (const Json* v = given(config, "bad_words_ids")) {
    for (const Json& item : v->as_array("bad_words_ids")) {
      out.sequence_bias.push_back({ids_of(item, "bad_words_ids"), -INFINITY});
    }
  }
  if (const Json* v = given(config, "dry_sequence_breakers")) {
    for (const Json& item : v->as_array("dry_sequence_breakers")) {
      if (item.is_string()) {
        out.dry_breaker_texts.push_back(item.as_string());
      } else {
        out.dry_breaker_ids.push_back(id_of(item, "dry_sequence_breakers"));
      }
    }
  }
}

}  // namespace

GenerationConfig GenerationConfig::from_json(const Json& config) {
  GenerationConfig out;
  if (config.is_null()) return out;
  config.as_object("generation config");
  if (const Json* v = given(config, "do_sample")) out.sample = v->as_bool("do_sample");
  for (const NumberField& field : number_fields()) {
    for (const std::string_view name : {field.other_name, field.name}) {
      const Json* v = name.empty() ? nullptr : given(config, name);
      if (v == nullptr) continue;
      const bool is_whole = std::holds_alternative<std::int64_t GenerationConfig::*>(field.member);
      // as_int_in keeps what a double would round.
      const auto low = static_cast<std::int64_t>(field.low);
      field.set(out, is_whole ? static_cast<double>(v->as_int_in(low, INT32_MAX, name))
                              : static_cast<double>(number(*v, name)));
    }
  }
  if (const Json* v = given(config, "seed")) out.seed = seed_of(*v);
  read_lists(config, out);
  read_sequences(config, out);
  out.check();
  return out;
}

}  // namespace linnet
