#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "engine/assistant.h"
#include "formats/presence.h"

// Where the source tree keeps its models; the build sets it.
#ifndef LINNET_MODELS_DIR
#define LINNET_MODELS_DIR ""
#endif

namespace fs = std::filesystem;

namespace linnet {
namespace {

constexpr std::string_view kTinyFolder = "tiny-smollm3-chat";
constexpr std::string_view kSmollm2File = "smollm2-135m-instruct";  // part of its file name

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::optional<fs::path> environment_path(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<fs::path>(value) : std::nullopt;
}

// The user's own choice first, then what came with the program, then what was fetched.
std::vector<fs::path> model_folders() {
  std::vector<fs::path> folders;
  if (const auto own = environment_path("LINNET_MODELS")) folders.push_back(*own);
  if (*LINNET_MODELS_DIR != '\0') folders.emplace_back(LINNET_MODELS_DIR);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path above = program.parent_path().parent_path();
    folders.push_back(above / "models");
    folders.push_back(above / "share" / "linnet" / "models");
  }
  auto cache = environment_path("XDG_CACHE_HOME");
  if (!cache || !cache->is_absolute()) {  // a relative path counts as unset
    cache.reset();
    if (const auto home = environment_path("HOME")) cache = *home / ".cache";
  }
  if (cache) folders.push_back(*cache / "linnet" / "models");
  return folders;
}

// The first by name of the GGUF files whose name holds `part`.
std::optional<fs::path> find_gguf(const fs::path& folder, std::string_view part) {
  std::set<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = lower_case(it->path().filename().string());
    if (name.ends_with(".gguf") && name.find(part) != std::string::npos) found.insert(it->path());
  }
  return found.empty() ? std::nullopt : std::optional<fs::path>(*found.begin());
}

std::optional<fs::path> find_in(const fs::path& folder, const std::string& name) {
  if (name == "tiny" && is_there(folder / kTinyFolder)) return folder / kTinyFolder;
  if (name == "smollm2") {
    if (auto file = find_gguf(folder, kSmollm2File)) return file;
  }
  for (const std::string& file : {name, name + ".gguf"}) {
    if (is_there(folder / file)) return folder / file;
  }
  return std::nullopt;
}

// A file that it names, or a folder with a model in it.
bool is_model(const fs::path& path) {
  return lower_case(path.filename().string()).ends_with(".gguf") || is_there(path / "config.json");
}

}  // namespace

std::vector<std::string> model_names() {
  std::set<std::string> names = {"tiny", "smollm2"};
  for (const fs::path& folder : model_folders()) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (is_model(it->path())) names.insert(it->path().filename().string());
    }
  }
  return {names.begin(), names.end()};
}

fs::path find_model(const std::string& name_or_path) {
  if (name_or_path.empty()) fail(ErrorCode::invalid_argument, "the name of the model is empty");
  if (is_there(name_or_path)) return name_or_path;
  if (name_or_path.find('/') != std::string::npos) {
    fail(ErrorCode::not_found,
         fmt::format("no model at {}: expected a model folder or a GGUF file", name_or_path));
  }
  std::string looked;
  for (const fs::path& folder : model_folders()) {
    if (const auto found = find_in(folder, name_or_path)) return *found;
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", folder.string());
  }
  const char* advice = name_or_path == "smollm2" ? "; tools/get_smollm2 fetches it" : "";
  fail(ErrorCode::not_found,
       fmt::format("no model named {}: looked here and in {}; give the path of a model folder or "
                   "GGUF file, or name the folder of your models in LINNET_MODELS{}",
                   name_or_path, looked, advice));
}

}  // namespace linnet
