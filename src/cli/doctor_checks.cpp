#include "cli/doctor_checks.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/thread_pool.h"
#include "cli/machine.h"
#include "cli/model_summary.h"
#include "cli/open_model.h"
#include "cli/self_test.h"
#include "cli/version.h"
#include "kernels/kernels.h"

namespace linnet {
namespace {

constexpr std::uint64_t kLittleMemory = std::uint64_t{1} << 30;
constexpr std::uint64_t kLittleDisk = std::uint64_t{4} << 30;

CheckResult ok(std::string detail) { return {"", CheckStatus::ok, std::move(detail)}; }
CheckResult warn(std::string detail) { return {"", CheckStatus::warn, std::move(detail)}; }
CheckResult error(std::string detail) { return {"", CheckStatus::error, std::move(detail)}; }
CheckResult skip(std::string detail) { return {"", CheckStatus::skip, std::move(detail)}; }

CheckResult check_processor() {
  std::string text;
  for (const CpuFeature& feature : cpu_features()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", feature.name,
                        feature.present ? "yes" : "no");
  }
  return ok(text.empty() ? "no known features; the portable code is used" : text);
}

CheckResult check_cores() {
  const int cores = available_cores();
  return ok(fmt::format("{} core{} may be used", cores, cores == 1 ? "" : "s"));
}

CheckResult check_memory() {
  const auto state = memory_state();
  if (!state) return warn("the system does not tell how much memory there is");
  const std::string text =
      fmt::format("{} available of {}{}", byte_text(state->available), byte_text(state->total),
                  state->limited ? " (the limit of this container)" : "");
  if (state->available < kLittleMemory) return warn(text + "; little for a model");
  return ok(text);
}

CheckResult check_disk() {
  const auto folder = cache_folder();
  if (!folder) return warn("no cache folder: HOME and XDG_CACHE_HOME are not set");
  const auto free = free_disk_bytes(*folder);
  if (!free) return warn(fmt::format("{}: the free space cannot be read", folder->string()));
  const std::string text = fmt::format("{} free for {}", byte_text(*free), folder->string());
  return *free < kLittleDisk ? warn(text + "; little for models") : ok(text);
}

CheckResult check_library() {
  const SelfTestResult result = run_self_test();
  return result.passed ? ok(result.detail) : error(result.detail);
}

CheckResult check_model_files(const std::filesystem::path& path, const OpenOptions& options) {
  const ModelSummary summary = summarize_model(path, options);
  if (summary.files.weights == nullptr) {
    return error(fmt::format("{}: there are no weights", path.string()));
  }
  const auto state = memory_state();
  const std::string text =
      fmt::format("{}: {}, {} parameters, {}", path.string(), summary.config.architecture,
                  summary.parameters, byte_text(summary.tensor_bytes));
  if (state && state->available < summary.tensor_bytes) {
    return warn(
        fmt::format("{}; more than the available memory ({})", text, byte_text(state->available)));
  }
  return ok(text);
}

// The table that the native lane takes, and the others of this build.
CheckResult check_kernels() {
  const Kernels& chosen = choose_kernels();
  std::string others;
  for (const Kernels* table : all_kernels()) {
    if (table == &chosen) continue;
    others += fmt::format("{}{}{}", others.empty() ? "" : ", ", table->name,
                          table->is_supported() ? "" : " (not on this machine)");
  }
  return ok(fmt::format("{}; also built: {}", chosen.name, others));
}

// Every tensor of the program is in the files, with its shape.
CheckResult check_tensors(const std::filesystem::path& path, const OpenOptions& options) {
  const ModelSummary summary = summarize_model(path, options);
  LoadOptions load;
  load.decode_limit = 0;
  const auto model = Model::load(summary.files, load);
  return ok(
      fmt::format("{} tensors as the configuration wants them", model->program().weights.size()));
}

CheckResult check_tokenizer(const std::filesystem::path& path, const OpenOptions& options) {
  const ModelFiles files = open_model_files(path, options);
  const auto tokenizer = files.load_tokenizer();
  const std::string sample = "Hello, world. 12 + 3 = 15; naïve, Straße, 日本語.";
  if (tokenizer->decode(tokenizer->encode(sample), false) != sample) {
    return error("a text that is encoded and decoded comes back changed");
  }
  const ModelConfig config = ModelConfig::from_json(files.config, files.config_file);
  if (tokenizer->size() > config.vocab) {
    return error(fmt::format("the tokenizer has {} tokens, the model's vocabulary {}",
                             tokenizer->size(), config.vocab));
  }
  return ok(fmt::format("{} tokens", tokenizer->size()));
}

CheckResult check_template(const std::filesystem::path& path, const OpenOptions& options) {
  const ModelFiles files = open_model_files(path, options);
  const Json messages = Json::parse(R"([{"role": "user", "content": "Hello"}])", "sample");
  const Prompt prompt = open_chat_template(files).render(messages, Json(), {});
  if (prompt.text.find("Hello") == std::string::npos) {
    return error("the prompt of a sample message does not hold the message");
  }
  const std::string text = fmt::format("a sample message becomes {} bytes", prompt.text.size());
  return files.chat_template ? ok(text) : warn("none, plain ChatML is used; " + text);
}

}  // namespace

std::string check_status_name(CheckStatus status) {
  switch (status) {
    case CheckStatus::ok:
      return "ok";
    case CheckStatus::warn:
      return "warn";
    case CheckStatus::error:
      return "error";
    case CheckStatus::skip:
      return "skip";
  }
  return "unknown";
}

std::vector<CheckResult> run_in_order(const std::vector<Check>& checks) {
  std::vector<CheckResult> results;
  const auto status_of = [&](const std::string& name) {
    for (const CheckResult& result : results) {
      if (result.name == name) return result.status;
    }
    return CheckStatus::error;  // a check that was never run cannot be relied on
  };
  for (const Check& check : checks) {
    CheckResult result;
    const CheckStatus before = check.needs.empty() ? CheckStatus::ok : status_of(check.needs);
    if (before == CheckStatus::error || before == CheckStatus::skip) {
      result = skip(fmt::format("needs the check \"{}\"", check.needs));
    } else {
      try {
        result = check.run();
      } catch (const std::exception& fault) {
        result = error(fault.what());
      }
    }
    result.name = check.name;
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<CheckResult> run_checks(const GlobalOptions& globals) {
  std::vector<Check> checks = {
      {"version", "", [] { return ok(fmt::format("linnet {}", kVersion)); }},
      {"platform", "", [] { return ok(platform_text()); }},
      {"processor", "", check_processor},
      {"kernels", "", check_kernels},
      {"cores", "", check_cores},
      {"memory", "", check_memory},
      {"disk", "", check_disk},
      {"library", "", check_library},
  };
  if (globals.model.empty()) return run_in_order(checks);
  const auto path = std::make_shared<std::filesystem::path>();
  const OpenOptions options = open_options(globals);
  checks.push_back({"model", "library", [&globals, path, options] {
                      *path = chosen_model(globals);
                      return check_model_files(*path, options);
                    }});
  checks.push_back({"tensors", "model", [path, options] { return check_tensors(*path, options); }});
  checks.push_back(
      {"tokenizer", "model", [path, options] { return check_tokenizer(*path, options); }});
  checks.push_back(
      {"template", "tokenizer", [path, options] { return check_template(*path, options); }});
  return run_in_order(checks);
}

}  // namespace linnet
