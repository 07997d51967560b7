#include "cli/open_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/head_warning.h"
#include "cli/nearest.h"
#include "cli/progress_bar.h"

namespace linnet {

namespace {

std::string name_of(const std::filesystem::path& path) {
  const std::filesystem::path whole = path.lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// Tensors that the model does not use may be a sign of the wrong config, so they are not hidden.
void tell_unexpected(const std::string& name, const std::vector<std::string>& tensors) {
  constexpr std::size_t kShown = 4;
  if (tensors.empty()) return;
  std::string text = name + ": in the file, but not part of the model:";
  for (std::size_t i = 0; i < std::min(kShown, tensors.size()); ++i) text += " " + tensors[i];
  if (tensors.size() > kShown) text += fmt::format(" and {} more", tensors.size() - kShown);
  log_warn(text);
}

std::filesystem::path named_model(const std::string& name) {
  try {
    return find_model(name);
  } catch (const Error& error) {
    const bool is_path = name.find('/') != std::string::npos;
    if (error.code() != ErrorCode::not_found || is_path) throw;
    const auto nearest = nearest_name(name, model_names());
    if (!nearest) throw;
    fail(error.code(), fmt::format("{}; did you mean {}?", error.what(), *nearest));
  }
}

}  // namespace

std::filesystem::path chosen_model(const GlobalOptions& globals) {
  if (!globals.model.empty()) return named_model(globals.model);
  try {
    return find_model("smollm2");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
  }
  return find_model("tiny");
}

OpenOptions open_options(const GlobalOptions& globals) {
  OpenOptions options;
  options.access = globals.no_mmap ? FileAccess::read : FileAccess::map;
  options.dtype = dtype_from_name(globals.dtype);  // none for "auto"
  return options;
}

LoadOptions load_options(const GlobalOptions& globals) {
  LoadOptions options;
  options.threads = static_cast<int>(globals.threads);
  options.context = globals.max_context;
  options.yarn = globals.yarn.value_or(0);
  choose_lane(globals.lane, options);
  return options;
}

OpenedAssistant open_assistant(const CommandContext& context) {
  const auto start = Clock::now();
  const std::filesystem::path path = chosen_model(context.globals);
  const std::string name = name_of(path);
  ProgressBar bar("Loading " + name, context.terminal());
  LoadOptions load = load_options(context.globals);
  load.on_progress = [&](double fraction) { bar.update(fraction); };
  OpenedAssistant opened{Assistant::load(path, open_options(context.globals), load), name, 0};
  bar.erase();
  opened.load_seconds = seconds_since(start);
  for (const std::string& note : opened.assistant.files.notes) log_info(note);
  warn_of_own_head(opened.assistant.files, opened.assistant.model->config());
  tell_unexpected(name, opened.assistant.model->report().unexpected);
  if (!opened.assistant.has_own_template) {
    log_info(name + " has no chat template; the plain ChatML form is used");
  }
  return opened;
}

}  // namespace linnet
