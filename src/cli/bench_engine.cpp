#include "cli/bench_engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file_map.h"
#include "base/random.h"
#include "cli/machine.h"
#include "cli/open_model.h"
#include "cli/progress_bar.h"
#include "engine/batch_engine.h"

namespace linnet {
namespace {

constexpr std::int64_t kStreams = 16;
constexpr std::int64_t kNewTokens = 48;
constexpr std::size_t kPrompt = 64;
constexpr std::size_t kSuffix = 16;
constexpr std::size_t kTextTokens = 300;
constexpr std::uint64_t kMostTextBytes = 1 << 20;

struct Line {
  std::string name;
  Spread value;
  std::string unit;
  std::string beside;  // what it is compared with
};

class EngineBench {
 public:
  EngineBench(std::shared_ptr<const Model> model, std::shared_ptr<const Tokenizer> tokenizer,
              const BenchOptions& options)
      : model_(std::move(model)), tokenizer_(std::move(tokenizer)), options_(options) {}

  std::vector<Line> run(ProgressBar& bar) {
    const std::size_t steps = 3 + options_.texts.size();
    std::size_t done = 0;
    const auto step = [&](auto part) {
      bar.update(static_cast<double>(done++) / static_cast<double>(steps));
      (this->*part)();
    };
    step(&EngineBench::many_streams);
    step(&EngineBench::long_prompt);
    step(&EngineBench::shared_prefix);
    for (const std::string& text : options_.texts) {
      bar.update(static_cast<double>(done++) / static_cast<double>(steps));
      guesses(text);
    }
    return lines_;
  }

 private:
  std::vector<TokenId> random_ids(std::size_t count) {
    std::vector<TokenId> ids(count);
    for (TokenId& id : ids) {
      id = static_cast<TokenId>(stream_.next_uniform() *
                                static_cast<float>(model_->program().vocab));
    }
    return ids;
  }
  Request request(std::vector<TokenId> prompt, std::int64_t most_new) {
    Request request;
    request.prompt = std::move(prompt);
    request.config.max_new_tokens = most_new;
    request.speculate = false;
    return request;
  }
  std::unique_ptr<BatchEngine> new_engine(std::int64_t positions) const {
    EngineOptions options;
    options.cache_positions = positions;
    return std::make_unique<BatchEngine>(model_, tokenizer_, options);
  }

  // Every stream in the state after its prompt; then the seconds of `passes` passes.
  double streams(std::vector<Request> requests, std::vector<std::vector<TokenId>>& ids,
                 EngineStats& stats) {
    const auto engine = new_engine(static_cast<std::int64_t>(requests.size()) * 192);
    std::vector<std::shared_ptr<Ticket>> tickets;
    std::size_t begun = 0;
    for (Request& each : requests) {
      each.on_token = [&begun, first = true](const TokenEvent&) mutable {
        begun += first ? 1 : 0;
        first = false;
      };
      tickets.push_back(engine->submit(each));
    }
    while (begun < requests.size()) engine->step();
    const EngineStats before = engine->stats();
    const auto start = Clock::now();
    while (!tickets.back()->has_ended()) engine->step();
    const double seconds = seconds_since(start);
    stats = engine->stats();
    stats.rows -= before.rows;
    stats.model_seconds -= before.model_seconds;
    stats.other_seconds -= before.other_seconds;
    while (engine->step()) {
    }
    ids.clear();
    for (const auto& ticket : tickets) ids.push_back(ticket->get().answers.at(0).ids);
    return static_cast<double>(stats.rows) / seconds;
  }

  void many_streams() {
    std::vector<Request> requests;
    for (std::int64_t i = 0; i < kStreams; ++i) {
      requests.push_back(request(random_ids(kPrompt), kNewTokens));
      requests.back().config.sample = true;
      requests.back().config.seed = static_cast<std::uint64_t>(i);
    }
    std::vector<double> one, many, ratio, cost;
    std::vector<std::vector<TokenId>> alone(requests.size()), together, single;
    EngineStats stats;
    bool is_equal = true;
    for (std::int64_t run = 0; run < options_.runs; ++run) {
      const std::size_t at = static_cast<std::size_t>(run) % requests.size();
      one.push_back(streams({requests[at]}, single, stats));
      many.push_back(streams(requests, together, stats));
      ratio.push_back(many.back() / one.back());
      cost.push_back(100 * stats.other_seconds / (stats.other_seconds + stats.model_seconds));
      is_equal = is_equal && together[at] == single[0];
    }
    add("one stream", one, "tokens/s", "");
    add(fmt::format("{} streams together", kStreams), many, "tokens/s",
        is_equal ? "each with the ids it gives alone" : "OTHER IDS THAN ALONE");
    add("the same", ratio, "times", "one stream");
    add("scheduling and sampling of them", cost, "%", "of a step");
  }

  void long_prompt() {
    const std::int64_t length = std::min(options_.context, model_->context() - 64);
    std::vector<double> ratios, gaps;
    for (std::int64_t run = 0; run < options_.runs; ++run) {
      const auto engine = new_engine(length + 4096);
      Clock::time_point last;
      std::vector<double> alone, beside;
      bool is_beside = false;
      Request running = request(random_ids(kPrompt), 3000);
      running.on_token = [&](const TokenEvent&) {
        const auto now = Clock::now();
        const double gap = std::chrono::duration<double>(now - last).count();
        (is_beside ? beside : alone).push_back(gap);
        last = now;
      };
      const auto stream = engine->submit(running);
      while (alone.size() < 25) engine->step();
      alone.erase(alone.begin());
      is_beside = true;
      const auto prompt = engine->submit(request(random_ids(static_cast<std::size_t>(length)), 1));
      while (!prompt->has_ended() && !stream->has_ended()) engine->step();
      stream->cancel();
      while (!prompt->has_ended() || !stream->has_ended()) engine->step();
      const double normal = spread_of(alone).median;
      std::sort(beside.begin(), beside.end());
      gaps.push_back(spread_of(beside).median / normal);
      ratios.push_back(beside.back() / normal);
    }
    add(fmt::format("gap in a stream beside a prompt of {}", length), gaps, "times", "the usual");
    add("the longest of them", ratios, "times", "the usual");
  }

  void shared_prefix() {
    const auto prefix =
        random_ids(static_cast<std::size_t>(std::min<std::int64_t>(2000, model_->context() - 64)));
    std::vector<double> first, second, alone;
    const auto time_to_first = [&](BatchEngine& engine, std::vector<TokenId> prompt) {
      const auto start = Clock::now();
      const auto ticket = engine.submit(request(std::move(prompt), 1));
      while (!ticket->has_ended()) engine.step();
      return seconds_since(start) * 1e3;
    };
    for (std::int64_t run = 0; run < options_.runs; ++run) {
      const auto engine = new_engine(4096);
      const auto with = [&](const std::vector<TokenId>& suffix) {
        std::vector<TokenId> prompt = prefix;
        prompt.insert(prompt.end(), suffix.begin(), suffix.end());
        return prompt;
      };
      alone.push_back(time_to_first(*engine, random_ids(kSuffix)));
      first.push_back(time_to_first(*engine, with(random_ids(kSuffix))));
      second.push_back(time_to_first(*engine, with(random_ids(kSuffix))));
    }
    add(fmt::format("first token of a prompt of {}", prefix.size() + kSuffix), first, "ms", "");
    add("of another that begins alike", second, "ms", fmt::format("{} new tokens", kSuffix));
    add(fmt::format("of a prompt of {} alone", kSuffix), alone, "ms", "");
  }

  // A prompt of a text and its beginning once more, which a model goes on to say again, as it would
  // where it rewrites or extracts; and of the text alone, which it continues freely (sampled at
  // temperature 1: small models left to the likeliest repeat themselves).
  void guesses(const std::string& path) {
    const std::string text = read_text_file(path, kMostTextBytes);
    std::vector<TokenId> ids = tokenizer_->encode(text);
    if (ids.size() > kTextTokens) ids.resize(kTextTokens);
    const std::string name = std::filesystem::path(path).filename().string();
    guess(name + " continued freely", ids, true);
    ids.insert(ids.end(), ids.begin(), ids.begin() + std::min<std::ptrdiff_t>(24, std::ssize(ids)));
    guess(name + " said again", ids, false);
  }

  void guess(const std::string& name, const std::vector<TokenId>& prompt, bool sample) {
    std::vector<double> ratios, accepted;
    for (std::int64_t run = 0; run < options_.runs; ++run) {
      const auto engine = new_engine(4096);
      GenerationResult results[2];
      // Three of each in turns on one engine, which has seen prices by then.
      double seconds[2] = {};
      for (int turn = 0; turn < 3; ++turn) {
        for (const bool speculate : {false, true}) {
          Request each = request(prompt, 256);
          each.speculate = speculate;
          each.config.sample = sample;
          each.config.seed = 7;
          each.cache_salt = "guesses";  // the same answer before is no help
          const auto ticket = engine->submit(each);
          while (!ticket->has_ended()) engine->step();
          results[speculate] = ticket->get().answers.at(0);
          seconds[speculate] += results[speculate].decode_seconds;
        }
        if (results[0].ids != results[1].ids) {
          fail(ErrorCode::corrupt_file, "guesses changed an answer");
        }
      }
      ratios.push_back(seconds[0] / seconds[1]);
      accepted.push_back(100.0 * static_cast<double>(results[1].accepted_tokens) /
                         static_cast<double>(std::ssize(results[1].ids)));
    }
    add(name + ", with guesses", ratios, "times", "without");
    add("guessed right", accepted, "%", "of the answer");
  }

  void add(std::string name, const std::vector<double>& values, std::string unit,
           std::string beside) {
    lines_.push_back({std::move(name), spread_of(values), std::move(unit), std::move(beside)});
  }

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  const BenchOptions& options_;
  RandomStream stream_{1};
  std::vector<Line> lines_;
};

}  // namespace

int bench_engine(CommandContext& context, const BenchOptions& options) {
  const std::filesystem::path path = chosen_model(context.globals);
  ProgressBar bar("Measuring", context.terminal());
  const ModelFiles files = open_model_files(path, open_options(context.globals));
  const auto model = Model::load(files, load_options(context.globals));
  const auto tokenizer = options.texts.empty() ? nullptr : files.load_tokenizer();
  EngineBench bench(model, tokenizer, options);
  const std::vector<Line> lines = bench.run(bar);
  bar.erase();
  Json json = Json::object();
  json.set("subject", "engine").set("model", path.string());
  json.set("processor", processor_name()).set("threads", model->pool().size());
  Json results = Json::array();
  for (const Line& line : lines) {
    Json each = Json::object();
    each.set("name", line.name).set("unit", line.unit).set("beside", line.beside);
    each.set("value", spread_json(line.value));
    results.push_back(std::move(each));
  }
  json.set("results", std::move(results));
  const std::string text = json.dump({.indent = 2}) + "\n";
  if (!options.save.empty()) write_file_atomically(options.save, as_bytes(text));
  if (options.json) {
    context.out.foreign(text);
    return 0;
  }
  context.out.foreign(
      fmt::format("{}; {}, {} threads\n\n", path.string(), processor_name(), model->pool().size()));
  context.out.line("| work | min | median | max | | beside |");
  context.out.line("|---|---|---|---|---|---|");
  for (const Line& line : lines) {
    context.out.foreign(fmt::format("| {} | {:.2f} | {:.2f} | {:.2f} | {} | {} |\n", line.name,
                                    line.value.min, line.value.median, line.value.max, line.unit,
                                    line.beside));
  }
  return 0;
}

}  // namespace linnet
