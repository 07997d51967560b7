#include "cli/verify_command.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "cli/open_model.h"
#include "cli/progress_bar.h"
#include "cli/verify_cases.h"

namespace linnet {
namespace {

struct VerifyFlags {
  std::string model;
  std::optional<std::string> reference;
  std::string config_name = "config.json";
  bool json = false;
};

// The sets that fit the model's config; at least one.
std::vector<VerifySet> sets_for(const ModelFiles& files, const VerifyFlags& flags) {
  std::vector<VerifySet> sets =
      flags.reference ? read_verify_sets(Json::parse_file(*flags.reference), *flags.reference)
                      : published_verify_sets();
  std::string known;
  for (const VerifySet& set : sets) known += "\n  " + set.model;
  std::erase_if(sets, [&](const VerifySet& set) { return !set.matches(files.config); });
  if (!sets.empty()) return sets;
  fail(ErrorCode::not_found,
       fmt::format("{}: there are no reference values for this model{}; there are some for:{}",
                   files.config_file,
                   flags.reference ? fmt::format(" in {}", *flags.reference)
                                   : " (give some with --reference)",
                   known));
}

Json result_json(const VerifySet& set, const VerifyResult& result) {
  Json json = Json::object();
  json.set("model", set.model);
  json.set("case", result.name);
  json.set("passed", result.passed);
  json.set("largest_difference", result.largest_difference);
  json.set("detail", result.detail);
  return json;
}

int run_verify(CommandContext& context, const VerifyFlags& flags) {
  GlobalOptions globals = context.globals;
  if (!flags.model.empty()) globals.model = flags.model;
  OpenOptions open = open_options(globals);
  open.config_name = flags.config_name;
  const ModelFiles files = open_model_files(chosen_model(globals), open);
  const std::vector<VerifySet> sets = sets_for(files, flags);
  ProgressBar bar("Loading", context.terminal());
  LoadOptions load = load_options(globals);
  load.on_progress = [&](double fraction) { bar.update(fraction); };
  const auto model = Model::load(files, load);
  bar.erase();
  std::size_t cases = 0, failed = 0;
  Json records = Json::array();
  for (const VerifySet& set : sets) {
    if (!flags.json) {
      context.out.foreign(fmt::format("{}{}\n", set.model,
                                      set.source.empty() ? "" : ", values from " + set.source));
    }
    for (const VerifyCase& verify : set.cases) {
      const VerifyResult result = run_verify_case(*model, verify);
      ++cases;
      failed += result.passed ? 0 : 1;
      if (flags.json) {
        records.push_back(result_json(set, result));
        continue;
      }
      context.out.foreign(
          fmt::format("{}  {}: {}\n", result.passed ? "pass" : "FAIL", result.name, result.detail));
      context.out.flush();
    }
  }
  if (flags.json) {
    context.out.line(records.dump({.indent = 2}));
  } else {
    context.out.line(fmt::format("{} passed, {} failed", cases - failed, failed));
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

Command make_verify_command() {
  auto flags = std::make_shared<VerifyFlags>();
  Command command;
  command.name = "verify";
  command.summary = "Compare a model's numbers with reference values";
  command.details =
      "Runs a few inputs through the model and compares the outputs with values that were computed "
      "elsewhere: published ones, chosen by the model's config, or those of a file. The status is "
      "0 "
      "when all of them pass.";
  command.examples = {"linnet verify path/to/SmolLM3-3B",
                      "linnet verify path/to/model --reference values.json"};
  command.argument = Argument{
      .name = "MODEL", .help = "as --model", .is_path = true, .set = to_path(flags->model)};
  command.options = {
      {.name = "reference",
       .value = "FILE",
       .help = "JSON file of reference values, in place of the published ones",
       .is_path = true,
       .set = to_path(flags->reference)},
      {.name = "config",
       .value = "NAME",
       .help = "name of the config file in the model's folder (default config.json)",
       .set = to_text(flags->config_name)},
      {.name = "json", .help = "print JSON records", .set = to_flag(flags->json)},
  };
  command.run = [flags](CommandContext& context) { return run_verify(context, *flags); };
  return command;
}

}  // namespace linnet
