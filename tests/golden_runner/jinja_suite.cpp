// Folders "jinja" (conformance snippets) and "templates_wild" (chat templates of other models).
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "base/file_map.h"
#include "golden_runner/jinja_case.h"
#include "golden_runner/suite.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

bool accepts_jinja(const fs::path& folder) {
  return folder.filename() == "jinja" && fs::exists(folder / "conformance.jsonl");
}

void run_jinja(const fs::path& folder, Report& report) {
  for_each_json_line(folder / "conformance.jsonl", [&](const linnet::Json& row) {
    const std::string name =
        row.at("group").as_string() + " " + std::to_string(row.at("n").as_int());
    check_render(name, row, row.at("template").as_string(), row.at("context"), report);
  });
}

bool accepts_wild(const fs::path& folder) {
  return fs::exists(folder / "conversations.json") && fs::exists(folder / "expected.jsonl");
}

void run_wild(const fs::path& folder, Report& report) {
  const linnet::Json conversations =
      linnet::Json::parse_file((folder / "conversations.json").string());
  for_each_json_line(folder / "expected.jsonl", [&](const linnet::Json& row) {
    const std::string file = row.at("template").as_string();
    const std::string conversation = row.at("conversation").as_string();
    const std::string source = linnet::read_text_file((folder / file).string());
    check_render(file + " " + conversation, row, source, conversations.at(conversation), report);
  });
}

}  // namespace

extern const Suite kJinjaSuite;
extern const Suite kWildTemplatesSuite;
const Suite kJinjaSuite = {"jinja", accepts_jinja, run_jinja};
const Suite kWildTemplatesSuite = {"templates_wild", accepts_wild, run_wild};

}  // namespace golden
