#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "base/error.h"
#include "formats/gguf_fields.h"

namespace linnet {
namespace {

constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
// llama.cpp leaves every fourth layer of a SmolLM3 without rotation.
constexpr std::int64_t kNoRopeInterval = 4;

// The fields of a config.json that matter here, with transformers' defaults.
class SourceConfig {
 public:
  SourceConfig(const Json& config, const std::string& file) : config_(config), file_(file) {}

  const Json* find(std::string_view key) const { return present(config_, key); }
  std::string label(std::string_view key) const { return fmt::format("{}: {}", file_, key); }
  std::int64_t size(std::string_view key) const {
    const Json* value = find(key);
    if (value == nullptr) {
      fail(ErrorCode::invalid_argument, fmt::format("{} is missing", label(key)));
    }
    return value->as_int_in(1, kMaxSize, label(key));
  }
  std::int64_t size_or(std::string_view key, std::int64_t otherwise) const {
    return find(key) == nullptr ? otherwise : size(key);
  }
  std::string text_or(std::string_view key, std::string otherwise) const {
    const Json* value = find(key);
    return value == nullptr ? otherwise : value->as_string(label(key));
  }
  std::int64_t heads() const { return size("num_attention_heads"); }
  std::int64_t head_dim() const { return size_or("head_dim", size("hidden_size") / heads()); }

  // The rope section in either spelling; null when there is none.
  const Json* rope() const {
    const Json* section = find("rope_parameters");
    return section != nullptr ? section : find("rope_scaling");
  }
  std::string rope_key(std::string_view key) const { return fmt::format("rope_scaling.{}", key); }
  const Json* find_rope(std::string_view key) const {
    return rope() == nullptr ? nullptr : present(*rope(), key);
  }
  double rope_number(std::string_view key) const {
    const Json* value = find_rope(key);
    if (value == nullptr) {
      fail(ErrorCode::invalid_argument, fmt::format("{} is missing", label(rope_key(key))));
    }
    return value->as_double(label(rope_key(key)));
  }
  std::string rope_type() const {
    for (const std::string_view key : {"rope_type", "type"}) {
      if (const Json* type = find_rope(key)) return type->as_string(label(rope_key(key)));
    }
    return "default";
  }
  double theta() const {
    if (find_rope("rope_theta") != nullptr) return rope_number("rope_theta");
    const Json* value = find("rope_theta");
    if (value == nullptr) {
      fail(ErrorCode::invalid_argument, fmt::format("{} is missing", label("rope_theta")));
    }
    return value->as_double(label("rope_theta"));
  }

  [[noreturn]] void refuse(std::string_view key, std::string_view why) const {
    fail(ErrorCode::unsupported, fmt::format("{} {}, which a GGUF file cannot say; convert to a "
                                             "safetensors folder instead",
                                             label(key), why));
  }

 private:
  static const Json* present(const Json& object, std::string_view key) {
    const Json* value = object.find(key);
    return value != nullptr && !value->is_null() ? value : nullptr;
  }

  const Json& config_;
  const std::string& file_;
};

enum class NoRope : std::uint8_t { none, every_fourth, other };

// `rotates(i)` for each layer, against the two schedules that have a name.
NoRope schedule_of(std::int64_t layers, const auto& rotates) {
  bool all = true, fourth = true;
  for (std::int64_t i = 0; i < layers; ++i) {
    all = all && rotates(i);
    fourth = fourth && rotates(i) == ((i + 1) % kNoRopeInterval != 0);
  }
  // Of fewer than four layers all rotate in both.
  if (fourth) return NoRope::every_fourth;
  return all ? NoRope::none : NoRope::other;
}

NoRope no_rope_schedule(const SourceConfig& config) {
  const std::int64_t layers = config.size("num_hidden_layers");
  const Json* list = config.find("no_rope_layers");
  if (list == nullptr) {
    if (config.text_or("model_type", "") != "smollm3") return NoRope::none;
    const std::int64_t interval = config.size_or("no_rope_layer_interval", kNoRopeInterval);
    return schedule_of(layers, [&](std::int64_t i) { return (i + 1) % interval != 0; });
  }
  const Json::Array& flags = list->as_array(config.label("no_rope_layers"));
  if (static_cast<std::int64_t>(flags.size()) < layers) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{} has {} entries for {} layers", config.label("no_rope_layers"),
                     flags.size(), layers));
  }
  return schedule_of(layers, [&](std::int64_t i) {
    const Json& flag = flags[static_cast<std::size_t>(i)];
    return flag.is_bool() ? flag.as_bool() : flag.as_int(config.label("no_rope_layers")) != 0;
  });
}

void refuse_windows(const SourceConfig& config) {
  const std::string label = config.label("layer_types");
  if (const Json* types = config.find("layer_types")) {
    for (const Json& type : types->as_array(label)) {
      if (type.as_string(label) != "full_attention") {
        config.refuse("layer_types", "has " + type.as_string(label));
      }
    }
    if (types->size() > 0) return;
  }
  const Json* flag = config.find("use_sliding_window");
  if (flag != nullptr && flag->as_bool(config.label("use_sliding_window"))) {
    config.refuse("use_sliding_window", "is true");
  }
}

// Parameters that plain yarn has in a GGUF file; any other one must have the value given here.
void check_yarn(const SourceConfig& config) {
  constexpr std::pair<std::string_view, double> kDefaults[] = {{"beta_fast", 32.0},
                                                               {"beta_slow", 1.0}};
  for (const auto& [key, value] : config.rope()->as_object("rope_scaling")) {
    if (value.is_null() || key == "rope_type" || key == "type" || key == "factor" ||
        key == "original_max_position_embeddings" || key == "rope_theta" ||
        (key == "truncate" && value == Json(true))) {
      continue;
    }
    bool usual = false;
    for (const auto& [name, number] : kDefaults) {
      usual = usual || (key == name && value.is_number() && value.as_double() == number);
    }
    if (!usual) config.refuse(config.rope_key(key), "is set beside yarn");
  }
}

void check_supported(const SourceConfig& config) {
  const std::string activation = config.text_or("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") {
    config.refuse("hidden_act", fmt::format("is {}", json_quote(activation)));
  }
  refuse_windows(config);
}

// Llama 3.1: low frequencies are divided by `factor`, high ones are not, smoothly between.
std::vector<float> llama3_divisors(const SourceConfig& config) {
  const double factor = config.rope_number("factor");
  const double low = config.rope_number("low_freq_factor");
  const double high = config.rope_number("high_freq_factor");
  const double length = config.rope_number("original_max_position_embeddings");
  std::vector<float> divisors;
  for (std::int64_t i = 0; i < config.head_dim(); i += 2) {
    const double exponent = static_cast<double>(i) / static_cast<double>(config.head_dim());
    const double wavelength = 2.0 * std::numbers::pi * std::pow(config.theta(), exponent);
    double divisor = 1.0;
    if (wavelength > length / low) {
      divisor = factor;
    } else if (wavelength >= length / high) {
      const double smooth = (length / wavelength - low) / (high - low);
      divisor = 1.0 / ((1.0 - smooth) / factor + smooth);
    }
    divisors.push_back(static_cast<float>(divisor));
  }
  return divisors;
}

std::vector<float> longrope_divisors(const SourceConfig& config) {
  const Json* near = config.find_rope("short_factor");
  const Json* far = config.find_rope("long_factor");
  const Json* attention = config.find_rope("attention_factor");
  if (near == nullptr || far == nullptr || !(*near == *far) || attention == nullptr ||
      attention->as_double(config.label("rope_scaling.attention_factor")) != 1.0) {
    config.refuse("rope_scaling", "is longrope with two lists or an attention factor");
  }
  std::vector<float> divisors;
  for (const Json& value : near->as_array(config.label("rope_scaling.short_factor"))) {
    divisors.push_back(
        static_cast<float>(value.as_double(config.label("rope_scaling.short_factor"))));
  }
  return divisors;
}

void add_rope(const SourceConfig& config, const std::string& prefix,
              std::vector<GgufField>& fields) {
  fields.push_back(
      {prefix + "rope.dimension_count", static_cast<std::uint32_t>(config.head_dim())});
  fields.push_back({prefix + "rope.freq_base", static_cast<float>(config.theta())});
  const std::string type = config.rope_type();
  if (type == "default" || type == "llama3" || type == "longrope") return;
  if (type != "linear" && type != "yarn") {
    config.refuse("rope_scaling.rope_type", fmt::format("is {}", json_quote(type)));
  }
  if (type == "yarn") check_yarn(config);
  fields.push_back({prefix + "rope.scaling.type", type});
  fields.push_back(
      {prefix + "rope.scaling.factor", static_cast<float>(config.rope_number("factor"))});
  if (config.find_rope("original_max_position_embeddings") != nullptr) {
    const double length = config.rope_number("original_max_position_embeddings");
    fields.push_back(
        {prefix + "rope.scaling.original_context_length", static_cast<std::uint32_t>(length)});
  }
}

}  // namespace

std::string gguf_architecture(const Json& json, const std::string& file) {
  const SourceConfig config(json, file);
  const std::string type = config.text_or("model_type", "");
  const Json* classes = config.find("architectures");
  const bool causal = classes == nullptr || classes->size() == 0 ||
                      classes->as_array(config.label("architectures"))[0]
                          .as_string(config.label("architectures"))
                          .ends_with("ForCausalLM");
  if (!causal) config.refuse("architectures", "is not a causal language model");
  if (type != "smollm3" && type != "llama") {
    config.refuse("model_type", fmt::format("is {}, not smollm3 or llama", json_quote(type)));
  }
  const NoRope schedule = no_rope_schedule(config);
  if (type == "smollm3" && schedule == NoRope::every_fourth) return "smollm3";
  if (schedule == NoRope::none || config.size("num_hidden_layers") < kNoRopeInterval) {
    return "llama";
  }
  if (schedule == NoRope::every_fourth) return "smollm3";
  config.refuse("no_rope_layers", "is neither \"all layers rotate\" nor \"all but every fourth\"");
}

std::vector<GgufField> gguf_architecture_fields(const Json& json, const std::string& file) {
  const SourceConfig config(json, file);
  check_supported(config);
  const std::string architecture = gguf_architecture(json, file);
  const std::string prefix = architecture + ".";
  std::vector<GgufField> fields = {{"general.architecture", architecture}};
  const auto add = [&](std::string_view key, std::int64_t value) {
    fields.push_back({prefix + std::string(key), static_cast<std::uint32_t>(value)});
  };
  add("block_count", config.size("num_hidden_layers"));
  add("context_length", config.size("max_position_embeddings"));
  add("embedding_length", config.size("hidden_size"));
  add("feed_forward_length", config.size("intermediate_size"));
  add("attention.head_count", config.heads());
  add("attention.head_count_kv", config.size_or("num_key_value_heads", config.heads()));
  add("attention.key_length", config.head_dim());
  add("attention.value_length", config.head_dim());
  const Json* epsilon = config.find("rms_norm_eps");
  fields.push_back(
      {prefix + "attention.layer_norm_rms_epsilon",
       static_cast<float>(epsilon == nullptr ? 1e-6 : epsilon->as_double("rms_norm_eps"))});
  add("vocab_size", config.size("vocab_size"));
  add_rope(config, prefix, fields);
  return fields;
}

std::vector<float> gguf_rope_divisors(const Json& json, const std::string& file) {
  const SourceConfig config(json, file);
  const std::string type = config.rope_type();
  if (type == "llama3") return llama3_divisors(config);
  return type == "longrope" ? longrope_divisors(config) : std::vector<float>();
}

}  // namespace linnet
