// Broken models: each must fail with an Error whose message names what is broken, and never crash,
// hang or load silently; the good ones among them must load and give the logits of the folder.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "golden_runner/compare.h"
#include "golden_runner/suite.h"
#include "model/model.h"
#include "time_limit.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;
using linnet::Model;

constexpr double kMaxSeconds = 2.0;  // of processor time

struct CorruptCase {
  const fs::path& folder;
  const Json& head;
  const Json& test_case;
  Report& report;

  std::string text(std::string_view key) const { return test_case.at(key).as_string(key); }
  void fail(const std::string& detail) const { report.fail(text("name"), detail); }
  void pass() const { report.pass(text("name")); }
};

bool accepts(const fs::path& folder) {
  const fs::path cases = folder / "cases.json";
  if (!fs::exists(cases) || fs::exists(folder / "cases.safetensors")) return false;
  return Json::parse_file(cases.string()).find("good_logits") != nullptr;
}

std::vector<std::string> texts(const Json& test_case, std::string_view key) {
  std::vector<std::string> found;
  if (const Json* list = test_case.find(key)) {
    for (const Json& item : list->as_array(key)) found.push_back(item.as_string(key));
  }
  return found;
}

// What an error lacks; nothing when it is as it must be.
std::optional<std::string> fault_of(const Json& test_case, const linnet::Error& error) {
  const std::string message = error.what();
  const auto mentions = [&](const std::string& text) {
    return message.find(text) != std::string::npos;
  };
  for (const std::string& text : texts(test_case, "message_must_mention")) {
    if (!mentions(text)) return fmt::format("the message does not mention {}: {}", text, message);
  }
  const auto choices = texts(test_case, "message_must_mention_one_of");
  if (!choices.empty() && std::none_of(choices.begin(), choices.end(), mentions)) {
    return fmt::format("the message mentions none of {} texts: {}", choices.size(), message);
  }
  const std::string code(linnet::error_code_name(error.code()));
  auto codes = texts(test_case, "any_code_of");
  codes.push_back(test_case.at("code").as_string("code"));
  if (std::find(codes.begin(), codes.end(), code) == codes.end()) {
    return fmt::format("the code is {}, expected {}: {}", code, codes.back(), message);
  }
  return std::nullopt;
}

std::vector<float> logits_of(const Model& model, const Json& ids) {
  std::vector<std::int32_t> tokens;
  for (const Json& id : ids.as_array("good_input")) {
    tokens.push_back(static_cast<std::int32_t>(id.as_int("good_input")));
  }
  std::vector<std::int32_t> places(tokens.size());
  std::iota(places.begin(), places.end(), 0);
  linnet::KvCache cache = model.make_cache();
  const linnet::SequenceRows sequence{&cache, static_cast<std::int64_t>(tokens.size())};
  linnet::Batch batch;
  batch.tokens = tokens;
  batch.positions = places;
  batch.sequences = {&sequence, 1};
  batch.selected = places;
  return model.run(batch);
}

std::vector<float> numbers(const Json& rows) {
  std::vector<float> values;
  for (const Json& row : rows.as_array("logits")) {
    for (const Json& value : row.as_array("logits")) {
      values.push_back(static_cast<float>(value.as_double("logits")));
    }
  }
  return values;
}

// What is wrong with a model that loaded, as it should.
std::optional<std::string> fault_of(const CorruptCase& context, const Model& model) {
  const auto& unexpected = model.report().unexpected;
  for (const std::string& name : texts(context.test_case, "report_must_name")) {
    if (std::find(unexpected.begin(), unexpected.end(), name) == unexpected.end()) {
      return fmt::format("the report does not name {}", name);
    }
  }
  const bool gguf = context.text("kind") == "gguf";
  const Json& logits = context.head.at(gguf ? "gguf_good_logits" : "good_logits");
  return difference(logits_of(model, context.head.at("good_input")), numbers(logits),
                    Tolerance::of(context.head, context.test_case));
}

void load_and_judge(const CorruptCase& context) {
  const bool must_load = context.text("expect") == "load";
  const bool may_load = must_load || context.test_case.find("may_load") != nullptr;
  std::optional<std::string> fault;
  try {
    const fs::path path = context.folder.parent_path() / context.text("path");
    const auto model = Model::load(linnet::open_model_files(path));
    fault = may_load ? fault_of(context, *model) : std::optional<std::string>("it loaded");
  } catch (const linnet::Error& error) {
    fault = must_load ? error.what() : fault_of(context.test_case, error);
  }
  fault ? context.fail(*fault) : context.pass();
}

// Broken weights that were let in must not choose tokens.
void generate_and_judge(const CorruptCase& context) {
  linnet::LoadOptions options;
  options.allow_non_finite = true;
  const fs::path path = context.folder.parent_path() / context.text("path");
  const auto model = Model::load(linnet::open_model_files(path), options);
  if (model->report().non_finite.size() != 1) return context.fail("the report names no tensor");
  try {
    logits_of(*model, context.head.at("good_input"));
  } catch (const linnet::Error&) {
    return;
  }
  context.fail("the output of broken weights was returned");
}

void run_case(const CorruptCase& context) {
  if (context.text("expect") == "error-when-checked") generate_and_judge(context);
  const linnet::testing::ProcessorWatch watch;
  load_and_judge(context);
  const double seconds = watch.seconds();
  if (seconds > kMaxSeconds) context.fail(fmt::format("took {:.1f} s", seconds));
}

void run(const fs::path& folder, Report& report) {
  const Json head = Json::parse_file((folder / "cases.json").string());
  for (const Json& test_case : head.at("cases").as_array("cases")) {
    const CorruptCase context{folder, head, test_case, report};
    try {
      run_case(context);
    } catch (const std::exception& error) {
      context.fail(fmt::format("not an Error: {}", error.what()));
    }
  }
}

}  // namespace

extern const Suite kCorruptSuite;
const Suite kCorruptSuite = {"corrupt", accepts, run};

}  // namespace golden
