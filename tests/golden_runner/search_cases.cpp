// Generation by beams, by contrast with the context, with drafts, and of padded batches: each as
// requests of one engine.
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/batch_engine.h"
#include "engine/logits.h"
#include "golden_runner/compare.h"
#include "golden_runner/sampling_suite.h"

namespace golden {
namespace {

using linnet::GenerationConfig;
using linnet::GenerationResult;
using linnet::Json;
using linnet::Model;
using linnet::Request;
using linnet::TokenId;
using Ids = std::vector<TokenId>;
using Row = std::vector<float>;

std::shared_ptr<const Model> open_model(const CaseContext& context) {
  static std::map<std::string, std::shared_ptr<const Model>> opened;
  const std::string& name = context.head.at("model").at("folder").as_string("model.folder");
  const auto path = context.folder.parent_path() / name;
  auto& model = opened[path.string()];
  if (model == nullptr) model = Model::load(linnet::open_model_files(path), load_options());
  return model;
}

linnet::Tensor array(const CaseContext& context, std::string_view part, std::string_view field) {
  return find_array(context.test_case, part, field, context.arrays).value();
}

Ids row_of(const linnet::Tensor& tensor, std::size_t row) {
  const std::vector<std::int64_t> all = tensor.to_ints();
  const auto width = static_cast<std::size_t>(tensor.dim(1));
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {begin, begin + static_cast<std::ptrdiff_t>(width)};
}

void judge_ids(const CaseContext& context, const std::string& field, const Ids& got,
               const Ids& expected) {
  const std::string name = context.name() + "/" + field;
  if (got == expected) return context.report.pass(name);
  context.report.fail(
      name, fmt::format("{} instead of {}", fmt::join(got, " "), fmt::join(expected, " ")));
}

Ids joined(const Ids& a, std::span<const TokenId> b) {
  Ids ids = a;
  ids.insert(ids.end(), b.begin(), b.end());
  return ids;
}

linnet::BeamOptions beam_options(const Json& params) {
  linnet::BeamOptions options;
  options.beams = params.at("num_beams").as_int("num_beams");
  if (const Json* penalty = params.find("length_penalty")) {
    options.length_penalty = static_cast<float>(penalty->as_double("length_penalty"));
  }
  if (const Json* early = params.find("early_stopping")) {
    options.early_stopping = early->is_string() ? linnet::EarlyStopping::never
                             : early->as_bool() ? linnet::EarlyStopping::when_full
                                                : linnet::EarlyStopping::when_unlikely;
  }
  return options;
}

Request request_of(const Json& params, Ids prompt) {
  Request request;
  request.config = GenerationConfig::from_json(params);
  request.config.max_new_tokens = request.config.new_token_limit(prompt.size()).value();
  request.config.max_length = -1;
  request.config.sample = false;
  request.prompt = std::move(prompt);
  if (params.find("num_beams") != nullptr) {
    request.beams = beam_options(params);
    request.answers = params.at("num_return_sequences").as_int("num_return_sequences");
  }
  if (const Json* alpha = params.find("penalty_alpha")) {
    request.config.top_k = 0;
    request.contrastive = linnet::ContrastiveOptions{
        params.at("top_k").as_int("top_k"), static_cast<float>(alpha->as_double("penalty_alpha"))};
  }
  return request;
}

// What the data has after the end of a beam: transformers takes a pad id of 0 for none there, and
// the first of the stop ids instead.
TokenId filler(const Json& params) {
  const Json* stop = params.find("eos_token_id");
  return stop == nullptr ? 0 : static_cast<TokenId>(stop->as_array("eos_token_id").at(0).as_int());
}

// All prompts of a case at once, in one engine.
std::vector<GenerationResult> generate(const CaseContext& context, const std::vector<Ids>& prompts,
                                       std::shared_ptr<linnet::DraftModel> drafts) {
  linnet::EngineOptions options;
  options.draft_model = std::move(drafts);
  options.always_guess = true;
  options.cache_positions = 8192;
  linnet::BatchEngine engine(open_model(context), nullptr, options);
  std::vector<std::shared_ptr<linnet::Ticket>> tickets;
  for (const Ids& prompt : prompts) {
    tickets.push_back(engine.submit(request_of(context.test_case.at("params"), prompt)));
  }
  while (engine.step()) {
  }
  std::vector<GenerationResult> results;
  for (const auto& ticket : tickets) {
    for (GenerationResult& result : ticket->get().answers) results.push_back(std::move(result));
  }
  return results;
}

// What a small model would be: this one, with the last three ids only to go by.
class ShortSighted : public linnet::DraftModel {
 public:
  explicit ShortSighted(const Model& model) : model_(model) {}
  linnet::Draft propose(std::span<const TokenId> ids, std::int64_t most) override {
    linnet::Draft draft;
    Ids seen(ids.end() - std::min<std::ptrdiff_t>(3, std::ssize(ids)), ids.end());
    while (static_cast<std::int64_t>(draft.ids.size()) < most) {
      draft.ids.push_back(linnet::first_maximum(sequence_logits(model_, seen, seen.size() - 1)));
      draft.confidence.push_back(0.5f);
      seen.push_back(draft.ids.back());
    }
    return draft;
  }

 private:
  const Model& model_;
};

}  // namespace

bool run_search_case(const CaseContext& context) {
  const Json& params = context.test_case.at("params");
  const auto mask = find_array(context.test_case, "inputs", "attention_mask", context.arrays);
  const bool is_beams = params.find("num_beams") != nullptr;
  const bool has_draft_model = params.find("draft_tokens") != nullptr;
  if (!is_beams && !mask && !has_draft_model && params.find("penalty_alpha") == nullptr &&
      params.find("prompt_lookup_num_tokens") == nullptr) {
    return false;
  }
  const linnet::Tensor input = array(context, "inputs", "input_ids");
  std::vector<Ids> padded, prompts;
  for (std::size_t row = 0; row < static_cast<std::size_t>(input.dim(0)); ++row) {
    padded.push_back(row_of(input, row));
    Ids ids = padded.back();
    if (mask) {
      const Ids seen = row_of(*mask, row);
      ids.erase(ids.begin(), ids.begin() + std::count(seen.begin(), seen.end(), 0));
    }
    prompts.push_back(std::move(ids));
  }
  std::shared_ptr<linnet::DraftModel> drafts;
  if (has_draft_model) drafts = std::make_shared<ShortSighted>(*open_model(context));
  const auto results = generate(context, prompts, drafts);
  const linnet::Tensor expected = array(context, "expected", "sequences");
  const auto indices = find_array(context.test_case, "expected", "beam_indices", context.arrays);
  const std::size_t answers = results.size() / prompts.size();
  Row scores;
  for (std::size_t row = 0; row < results.size(); ++row) {
    const GenerationResult& result = results[row];
    Ids got = joined(padded[row / answers], result.ids);
    got.resize(std::max(got.size(), static_cast<std::size_t>(expected.dim(1))),
               is_beams ? filler(params) : 0);
    const std::string number = results.size() > 1 ? fmt::format("[{}]", row) : "";
    judge_ids(context, "sequences" + number, got, row_of(expected, row));
    if (indices) {
      Ids from(result.beam_rows.begin(), result.beam_rows.end());
      from.resize(std::max(from.size(), static_cast<std::size_t>(indices->dim(1))), -1);
      judge_ids(context, "beam_indices" + number, from, row_of(*indices, row));
    }
    scores.push_back(result.score);
  }
  const auto judge = [&](const std::string& field, const Row& got) {
    if (const auto wanted = find_array(context.test_case, "expected", field, context.arrays)) {
      context.judge(field, got, wanted->to_floats());
    }
  };
  judge("sequences_scores", scores);
  judge("chosen_scores", results.front().choice_scores);
  return true;
}

}  // namespace golden
