// Generation by beams, by contrast with the context and with drafts. Whole sequences are computed
// anew for every step: what is tested is the choice.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/beam_search.h"
#include "engine/contrastive.h"
#include "engine/drafts.h"
#include "engine/generation.h"
#include "engine/logits.h"
#include "engine/stop_rules.h"
#include "golden_runner/compare.h"
#include "golden_runner/sampling_suite.h"

namespace golden {
namespace {

using linnet::GenerationConfig;
using linnet::Json;
using linnet::Model;
using linnet::TokenId;
using Ids = std::vector<TokenId>;
using Row = std::vector<float>;

const Model& open_model(const CaseContext& context, bool with_head) {
  static std::map<std::string, std::shared_ptr<const Model>> opened;
  const std::string& name = context.head.at("model").at("folder").as_string("model.folder");
  const auto path = context.folder.parent_path() / name;
  auto& model = opened[path.string() + (with_head ? "" : "/bare")];
  if (model == nullptr) {
    linnet::LoadOptions options = load_options();
    if (!with_head) options.task_head = linnet::TaskHead::none;
    model = Model::load(linnet::open_model_files(path), options);
  }
  return *model;
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

// Removes the ids that would complete a sequence of n ids once more.
void forbid_repeats(Row& scores, const Ids& ids, std::int64_t n) {
  if (n < 1 || static_cast<std::int64_t>(ids.size()) + 1 < n) return;
  const auto tail = static_cast<std::ptrdiff_t>(n - 1);
  for (auto at = ids.begin(); at + tail != ids.end(); ++at) {
    if (std::equal(at, at + tail, ids.end() - tail)) {
      scores[static_cast<std::size_t>(at[tail])] = linnet::kRemoved;
    }
  }
}

linnet::BeamOptions beam_options(const Json& params, const GenerationConfig& config) {
  linnet::BeamOptions options;
  options.beams = params.at("num_beams").as_int("num_beams");
  options.stop_ids = config.stop_ids;
  options.max_new_tokens = config.max_new_tokens;
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

std::vector<linnet::BeamResult> search(const CaseContext& context, const Ids& prompt) {
  const Json& params = context.test_case.at("params");
  const GenerationConfig config = GenerationConfig::from_json(params);
  const Json* repeats = params.find("no_repeat_ngram_size");
  const Model& model = open_model(context, true);
  linnet::BeamSearch search(beam_options(params, config));
  std::vector<Ids> sequences = {prompt};
  while (!search.is_done()) {
    Row rows;
    for (const Ids& ids : sequences) {
      Row row = linnet::log_probabilities(sequence_logits(model, ids, ids.size() - 1));
      Ids distinct = ids;
      std::sort(distinct.begin(), distinct.end());
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      linnet::penalize_repetition(row, distinct, config.repetition_penalty);
      if (repeats != nullptr) forbid_repeats(row, ids, repeats->as_int("no_repeat_ngram_size"));
      rows.insert(rows.end(), row.begin(), row.end());
    }
    std::vector<Ids> next;
    for (const linnet::Beam& beam : search.advance(rows)) {
      next.push_back(joined(sequences[static_cast<std::size_t>(beam.parent)], {&beam.token, 1}));
    }
    sequences = std::move(next);
  }
  return search.results(params.at("num_return_sequences").as_int("num_return_sequences"));
}

// What the data has after the end of a beam: transformers takes a pad id of 0 for none there, and
// the first of the stop ids instead.
TokenId filler(const Json& params) {
  const Json* stop = params.find("eos_token_id");
  return stop == nullptr ? 0 : static_cast<TokenId>(stop->as_array("eos_token_id").at(0).as_int());
}

void run_beams(const CaseContext& context) {
  const linnet::Tensor prompts = array(context, "inputs", "input_ids");
  const linnet::Tensor expected = array(context, "expected", "sequences");
  const auto mask = find_array(context.test_case, "inputs", "attention_mask", context.arrays);
  const auto indices = find_array(context.test_case, "expected", "beam_indices", context.arrays);
  Row scores;
  std::size_t row = 0;
  for (std::size_t prompt = 0; prompt < static_cast<std::size_t>(prompts.dim(0)); ++prompt) {
    const Ids padded = row_of(prompts, prompt);
    Ids ids = padded;
    if (mask) {
      const Ids seen = row_of(*mask, prompt);
      ids.erase(ids.begin(), ids.begin() + std::count(seen.begin(), seen.end(), 0));
    }
    for (const linnet::BeamResult& result : search(context, ids)) {
      Ids got = joined(padded, result.ids);
      got.resize(std::max(got.size(), static_cast<std::size_t>(expected.dim(1))),
                 filler(context.test_case.at("params")));
      const std::string number = fmt::format("[{}]", row);
      judge_ids(context, "sequences" + number, got, row_of(expected, row));
      if (indices) {
        Ids from(result.beams.begin(), result.beams.end());
        from.resize(std::max(from.size(), static_cast<std::size_t>(indices->dim(1))), -1);
        judge_ids(context, "beam_indices" + number, from, row_of(*indices, row));
      }
      scores.push_back(result.score);
      ++row;
    }
  }
  context.judge("sequences_scores", scores,
                array(context, "expected", "sequences_scores").to_floats());
}

void run_contrastive(const CaseContext& context) {
  const Json& params = context.test_case.at("params");
  const auto tokens = params.at("max_new_tokens").as_int("max_new_tokens");
  linnet::ContrastiveOptions options;
  options.top_k = params.at("top_k").as_int("top_k");
  options.alpha = static_cast<float>(params.at("penalty_alpha").as_double("penalty_alpha"));
  const Model& model = open_model(context, true);
  const Model& bare = open_model(context, false);
  linnet::ContrastiveSearch search(options, bare.config().hidden);
  Ids ids = row_of(array(context, "inputs", "input_ids"), 0);
  search.see(sequence_logits(bare, ids, 0));
  Row scores, probabilities;
  for (std::int64_t step = 0; step < tokens; ++step) {
    linnet::probabilities(sequence_logits(model, ids, ids.size() - 1), probabilities);
    Row hidden;
    for (const TokenId id : search.candidates(probabilities)) {
      const Row row = sequence_logits(bare, joined(ids, {&id, 1}), ids.size());
      hidden.insert(hidden.end(), row.begin(), row.end());
    }
    const linnet::ContrastiveChoice choice = search.choose(hidden);
    ids.push_back(choice.id);
    scores.push_back(choice.score);
  }
  judge_ids(context, "sequences", ids, row_of(array(context, "expected", "sequences"), 0));
  context.judge("chosen_scores", scores, array(context, "expected", "chosen_scores").to_floats());
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

using Propose = std::function<linnet::Draft(const Ids& ids)>;

// Greedy choice, each pass verifying a draft.
Ids speculate(const Model& model, Ids ids, const GenerationConfig& config, const Propose& propose) {
  const std::size_t full = ids.size() + static_cast<std::size_t>(config.max_new_tokens);
  const auto vocab = static_cast<std::size_t>(model.program().vocab);
  while (true) {
    const linnet::Draft draft = propose(ids);
    const Row rows = sequence_logits(model, joined(ids, draft.ids), ids.size() - 1);
    for (std::size_t i = 0; i <= draft.ids.size(); ++i) {
      ids.push_back(linnet::first_maximum(std::span(rows).subspan(i * vocab, vocab)));
      if (ids.size() == full || linnet::is_stop_id(config.stop_ids, ids.back())) return ids;
      if (i < draft.ids.size() && ids.back() != draft.ids[i]) break;
    }
  }
}

void run_drafts(const CaseContext& context) {
  const Json& params = context.test_case.at("params");
  const Model& model = open_model(context, true);
  const Ids prompt = row_of(array(context, "inputs", "input_ids"), 0);
  const GenerationConfig config = GenerationConfig::from_json(params);
  Ids got;
  if (const Json* most = params.find("prompt_lookup_num_tokens")) {
    linnet::DraftSource source;
    std::size_t seen = 0;
    got = speculate(model, prompt, config, [&](const Ids& ids) {
      source.see(std::span(ids).subspan(seen));
      seen = ids.size();
      return source.propose(most->as_int("prompt_lookup_num_tokens"));
    });
  } else {
    ShortSighted drafts(model);
    got = speculate(model, prompt, config, [&](const Ids& ids) {
      return drafts.propose(ids, params.at("draft_tokens").as_int("draft_tokens"));
    });
  }
  judge_ids(context, "sequences", got, row_of(array(context, "expected", "sequences"), 0));
}

}  // namespace

bool run_search_case(const CaseContext& context) {
  const Json& params = context.test_case.at("params");
  if (params.find("num_beams") != nullptr) {
    run_beams(context);
  } else if (params.find("penalty_alpha") != nullptr) {
    run_contrastive(context);
  } else if (params.find("prompt_lookup_num_tokens") != nullptr ||
             params.find("draft_tokens") != nullptr) {
    run_drafts(context);
  } else {
    return false;
  }
  return true;
}

}  // namespace golden
