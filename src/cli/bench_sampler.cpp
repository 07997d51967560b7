#include "cli/bench_sampler.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

#include "engine/log_probabilities.h"
#include "engine/sampler.h"

namespace linnet {
namespace {

constexpr std::size_t kVocab = 128256;
constexpr std::size_t kHistory = 4096;
constexpr int kChoices = 20;  // of a run

struct Setting {
  const char* name;
  const char* config;
};

constexpr Setting kSettings[] = {
    {"greedy", R"({})"},
    {"plain draw", R"({"do_sample": true})"},
    {"temperature", R"({"do_sample": true, "temperature": 0.6})"},
    {"dynamic temperature", R"({"do_sample": true, "dynatemp_range": 0.4})"},
    {"top-n-sigma", R"({"do_sample": true, "top_n_sigma": 1.5})"},
    {"top_k", R"({"do_sample": true, "top_k": 40})"},
    {"top_p", R"({"do_sample": true, "top_p": 0.95})"},
    {"temperature and top_p", R"({"do_sample": true, "temperature": 0.6, "top_p": 0.95})"},
    {"min_p", R"({"do_sample": true, "min_p": 0.05})"},
    {"typical_p", R"({"do_sample": true, "typical_p": 0.9})"},
    {"epsilon", R"({"do_sample": true, "epsilon_cutoff": 3e-4})"},
    {"eta", R"({"do_sample": true, "eta_cutoff": 3e-4})"},
    {"XTC", R"({"do_sample": true, "xtc_probability": 1})"},
    {"mirostat 1", R"({"do_sample": true, "mirostat": 1})"},
    {"mirostat 2", R"({"do_sample": true, "mirostat": 2})"},
    {"repetition penalty", R"({"repetition_penalty": 1.1})"},
    {"presence, frequency", R"({"presence_penalty": 0.5, "frequency_penalty": 0.2})"},
    {"no-repeat n-gram", R"({"no_repeat_ngram_size": 3})"},
    {"DRY", R"({"dry_multiplier": 0.8})"},
    {"biases, bans", R"({"logit_bias": {"5": 1, "9": false}, "bad_words_ids": [[3, 4], [6]],
                         "suppress_tokens": [7, 8], "min_new_tokens": 9000, "eos_token_id": [2]})"},
    {"all", R"({"do_sample": true, "temperature": 0.6, "dynatemp_range": 0.2, "top_n_sigma": 3,
                "top_k": 100, "top_p": 0.95, "min_p": 0.01, "typical_p": 0.95,
                "epsilon_cutoff": 1e-4, "eta_cutoff": 1e-4, "xtc_probability": 0.5,
                "repetition_penalty": 1.1, "presence_penalty": 0.5, "frequency_penalty": 0.2,
                "no_repeat_ngram_size": 3, "dry_multiplier": 0.8,
                "exponential_decay_length_penalty": [100, 1.01], "begin_suppress_tokens": [3],
                "logit_bias": {"5": 1, "9": false}, "bad_words_ids": [[3, 4], [6]],
                "suppress_tokens": [7, 8], "min_new_tokens": 9000, "eos_token_id": [2]})"},
};

// Logits as models give them: by rank like a power law, with noise. A flat row is the worst case
// of the filters: nearly all ids are as likely.
std::vector<float> make_logits(bool flat) {
  std::mt19937 random(5);
  std::normal_distribution<float> noise(0, flat ? 0.3f : 1.0f);
  std::vector<float> logits(kVocab);
  for (std::size_t rank = 0; rank < kVocab; ++rank) {
    const float law = flat ? 0.0f : -1.6f * std::log(static_cast<float>(rank + 1));
    logits[rank] = 14 + law + noise(random);
  }
  std::shuffle(logits.begin(), logits.end(), random);
  return logits;
}

// Words of a text: common ones often, with a passage that comes twice.
std::vector<TokenId> make_history() {
  std::mt19937 random(6);
  std::vector<TokenId> ids(kHistory);
  for (TokenId& id : ids) {
    const double share = std::generate_canonical<double, 32>(random);
    id = static_cast<TokenId>(std::pow(static_cast<double>(kVocab), share));
    id = std::min(id, static_cast<TokenId>(kVocab - 1));
  }
  std::copy_n(ids.begin(), 20, ids.end() - 20);
  return ids;
}

// Of the processor's time: one thread works and waits for nothing, so that what else the machine
// does should not count.
Spread microseconds(std::int64_t runs, const std::function<void()>& call) {
  call();  // its memory is there from here on
  std::vector<double> times;
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::clock_t start = std::clock();
    for (int i = 0; i < kChoices; ++i) call();
    const auto ticks = static_cast<double>(std::clock() - start);
    times.push_back(ticks / CLOCKS_PER_SEC * 1e6 / kChoices);
  }
  return spread_of(times);
}

Spread measure(const Setting& setting, const std::vector<float>& logits, std::int64_t runs) {
  const auto config = GenerationConfig::from_json(Json::parse(setting.config, setting.name));
  Sampler sampler(config, 1, kHistory / 2);
  sampler.see(make_history());
  return microseconds(runs, [&] { sampler.choose(logits); });
}

}  // namespace

int bench_sampler(CommandContext& context, const BenchOptions& options) {
  const std::vector<float> rows[] = {make_logits(false), make_logits(true)};
  Json json = Json::array();
  if (!options.json) {
    context.out.line(
        fmt::format("microseconds per token of {} ids, {} ids before it, one core\n\n"
                    "| processor | min | median | max | flat row |\n"
                    "|---|---|---|---|---|",
                    kVocab, kHistory));
  }
  const auto report = [&](const char* name, const Spread& usual, const Spread& flat) {
    if (options.json) {
      Json record = Json::object();
      record.set("processor", name);
      record.set("microseconds", spread_json(usual));
      record.set("flat_microseconds", spread_json(flat));
      return json.push_back(std::move(record));
    }
    context.out.line(fmt::format("| {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} |", name, usual.min,
                                 usual.median, usual.max, flat.median));
  };
  for (const Setting& setting : kSettings) {
    report(setting.name, measure(setting, rows[0], options.runs),
           measure(setting, rows[1], options.runs));
  }
  const auto log_probs = [&](const std::vector<float>& row) {
    return microseconds(options.runs, [&] { row_log_probabilities(row, 0, kMaxTopLogProbs); });
  };
  report("log-probabilities, top 20", log_probs(rows[0]), log_probs(rows[1]));
  if (options.json) {
    Json record = Json::object();
    record.set("subject", "sampler");
    record.set("vocabulary", kVocab);
    record.set("history", kHistory);
    record.set("processors", std::move(json));
    context.out.foreign(record.dump({.indent = 2}) + "\n");
  }
  return 0;
}

}  // namespace linnet
