// Folder "router": answers.jsonl, a model's text and the decision it leads to.
#include <fmt/core.h>

#include "golden_runner/suite.h"
#include "golden_runner/tokenizer_files.h"
#include "text/answer.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;

Json answer_json(const linnet::RouterAnswer& answer) {
  Json json = Json::object();
  json.set("status", answer.ok() ? "ok" : "parse_failed");
  json.set("reason", answer.ok() ? Json() : Json(linnet::answer_fault_name(answer.fault)));
  json.set("category", answer.category);
  json.set("confidence", answer.confidence);
  json.set("reply", answer.reply ? Json(*answer.reply) : Json());
  json.set("escalate", answer.escalate);
  return json;
}

bool accepts(const fs::path& folder) {
  return folder.filename() == "router" && fs::exists(folder / "answers.jsonl");
}

void run(const fs::path& folder, Report& report) {
  for_each_line(folder / "answers.jsonl", [&](int number, const Json& line) {
    const std::string name = fmt::format("{} {}", number, line.at("kind").as_string("kind"));
    const Json got = answer_json(linnet::extract_answer(line.at("text").as_string("text")));
    Json expected = line.at("expected");
    // 1 and 1.0 are the same confidence.
    expected.set("confidence", expected.at("confidence").as_double("confidence"));
    if (got == expected) return report.pass(name);
    report.fail(name, fmt::format("want {}, got {}", expected.dump(), got.dump()));
  });
}

}  // namespace

extern const Suite kRouterSuite;
const Suite kRouterSuite{"router", accepts, run};

}  // namespace golden
