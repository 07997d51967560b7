#include "golden_runner/sampling_suite.h"

#include <fmt/ranges.h>

#include <numeric>

#include "engine/generator.h"
#include "engine/sampler.h"
#include "golden_runner/compare.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::GenerationConfig;
using linnet::Generator;
using linnet::Json;
using linnet::TokenId;
using Ids = std::vector<TokenId>;

struct OpenModel {
  std::shared_ptr<const linnet::Model> model;
  std::shared_ptr<const linnet::Tokenizer> tokenizer;
};

const OpenModel& open_model(const CaseContext& context) {
  // The cases of a folder share their model.
  static std::map<std::string, OpenModel> opened;
  const Json& name = context.head.at("model").at("folder");
  const fs::path path = context.folder.parent_path() / name.as_string("model.folder");
  OpenModel& found = opened[path.string()];
  if (found.model == nullptr) {
    const auto files = linnet::open_model_files(path);
    found.model = linnet::Model::load(files, load_options());
    if (fs::exists(path / "tokenizer.json")) found.tokenizer = files.load_tokenizer();
  }
  return found;
}

Ids ids_of(const CaseContext& context, std::string_view part, std::string_view field) {
  const auto wide = find_array(context.test_case, part, field, context.arrays).value().to_ints();
  return {wide.begin(), wide.end()};
}

void verdict(const CaseContext& context, const std::string& field,
             const std::optional<std::string>& fault) {
  const std::string name = context.name() + "/" + field;
  fault ? context.report.fail(name, *fault) : context.report.pass(name);
}

std::optional<std::string> ids_fault(const Ids& got, const Ids& expected) {
  if (got == expected) return std::nullopt;
  return fmt::format("ids {} instead of {}", fmt::join(got, " "), fmt::join(expected, " "));
}

void run_sample(const CaseContext& context) {
  const OpenModel& open = open_model(context);
  GenerationConfig config = GenerationConfig::from_json(context.test_case.at("params"));
  config.sample = true;
  const Ids prompt = ids_of(context, "inputs", "input_ids");
  const Ids expected = ids_of(context, "expected", "new_tokens");
  const Ids got = Generator(open.model, nullptr).generate(prompt, config).ids;
  verdict(context, "new_tokens", ids_fault(got, expected));
  if (got != expected) return;

  // The draws, seen at the sampler itself.
  Ids sequence = prompt;
  sequence.insert(sequence.end(), got.begin(), got.end());
  const auto rows = sequence_logits(*open.model, sequence, prompt.size() - 1);
  const auto vocab = static_cast<std::size_t>(open.model->program().vocab);
  linnet::Sampler sampler(config, *config.seed, prompt.size());
  sampler.see(prompt);
  std::vector<float> uniforms, probabilities;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto choice = sampler.choose(std::span(rows).subspan(i * vocab, vocab));
    sampler.see({&got[i], 1});
    uniforms.push_back(choice.uniform);
    probabilities.push_back(choice.probability);
  }
  const Tolerance tolerance = Tolerance::of(context.head, context.test_case);
  const auto compare = [&](std::string_view field, const std::vector<float>& values, Tolerance t) {
    const auto wanted = find_array(context.test_case, "expected", field, context.arrays).value();
    verdict(context, std::string(field), difference(values, wanted.to_floats(), t));
  };
  compare("uniform", uniforms, {0, 0});
  compare("chosen_probability", probabilities, tolerance);
}

void run_generate(const CaseContext& context) {
  const OpenModel& open = open_model(context);
  const Ids prompt = ids_of(context, "inputs", "input_ids");
  Generator generator(open.model, open.tokenizer);
  GenerationConfig config = GenerationConfig::from_json(context.test_case.at("params"));
  config.max_new_tokens = config.new_token_limit(prompt.size()).value();
  config.max_length = -1;
  const auto result = generator.generate(prompt, config);
  Ids sequence = prompt;
  sequence.insert(sequence.end(), result.ids.begin(), result.ids.end());
  verdict(context, "sequences", ids_fault(sequence, ids_of(context, "expected", "sequences")));
  const auto logits = find_array(context.test_case, "expected", "step_logits", context.arrays);
  if (!logits) return;
  sequence.pop_back();
  verdict(context, "step_logits",
          difference(sequence_logits(*open.model, sequence, prompt.size() - 1), logits->to_floats(),
                     Tolerance::of(context.head, context.test_case)));
}

}  // namespace

std::vector<float> sequence_logits(const linnet::Model& model, std::span<const std::int32_t> ids,
                                   std::size_t first) {
  std::vector<std::int32_t> positions(ids.size());
  std::iota(positions.begin(), positions.end(), 0);
  linnet::KvCache cache = model.make_cache();
  const linnet::SequenceRows sequence{&cache, static_cast<std::int64_t>(ids.size())};
  linnet::Batch batch;
  batch.tokens = ids;
  batch.positions = positions;
  batch.sequences = {&sequence, 1};
  batch.selected = std::span<const std::int32_t>(positions).subspan(first);
  return model.run(batch);
}

bool run_sampling_case(const CaseContext& context) {
  const std::string& kind = context.kind();
  if (kind == "sample") {
    run_sample(context);
  } else if (kind == "generate") {
    if (!run_search_case(context)) run_generate(context);
  } else {
    return run_processor_case(context);
  }
  return true;
}

}  // namespace golden
