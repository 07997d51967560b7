// Random schedules of requests that come, end, are cancelled, run out of time and fail: exactly one
// end each, no block lost, and whoever was left alone gets the answer that it gives alone.
// LINNET_SCHEDULES says how many (a few hundred by default: more under a sanitizer takes long).
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "engine/batch_engine.h"
#include "engine/generator.h"
#include "engine/processors.h"
#include "model/model_folder.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

std::int64_t schedules() {
  const char* wanted = std::getenv("LINNET_SCHEDULES");
  return wanted != nullptr ? std::atoll(wanted) : 300;
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(stream_.next_uniform() * static_cast<float>(n));
  }

 private:
  RandomStream stream_;
};

struct Job {
  Request request;
  std::shared_ptr<Ticket> ticket;
  std::atomic<int> ends{0};
  bool is_left_alone = true;
};

Request random_request(Dice& dice, std::int64_t vocab) {
  Request request;
  const auto start = dice.below(3);
  const std::int64_t length = 1 + dice.below(dice.below(8) == 0 ? 150 : 20);
  for (std::int64_t i = 0; i < length; ++i) {
    request.prompt.push_back(static_cast<TokenId>((start * 7 + i) % vocab));
  }
  request.config.max_new_tokens = dice.below(dice.below(8) == 0 ? 70 : 8);
  request.config.sample = dice.below(2) == 0;
  request.config.seed = static_cast<std::uint64_t>(dice.below(3));
  request.answers = request.config.sample && dice.below(6) == 0 ? 3 : 1;
  if (!request.config.sample && dice.below(8) == 0) {
    request.beams = BeamOptions{.beams = 2};
    request.config.max_new_tokens = 1 + dice.below(5);
  }
  request.caller = std::string(1, static_cast<char>('a' + dice.below(3)));
  request.priority = static_cast<std::int32_t>(dice.below(2));
  request.cache_salt = dice.below(4) == 0 ? "salt" : "";
  return request;
}

// What can go wrong with it, besides.
void trouble(Dice& dice, Job& job) {
  switch (dice.below(12)) {
    case 0:
      job.request.on_token = [](const TokenEvent&) { throw std::runtime_error("gone"); };
      break;
    case 1:
      job.request.deadline = Clock::now() + std::chrono::microseconds(dice.below(3000));
      break;
    case 2:
      job.request.config.processors.push_back(callback_processor(
          [](std::span<const TokenId>, std::size_t, std::span<float> scores) { scores[0] = NAN; }));
      break;
    default:
      return;
  }
  job.is_left_alone = false;
}

}  // namespace

TEST_CASE("random schedules") {
  ModelFolder folder;
  folder.set("max_position_embeddings", "512");
  LoadOptions load;
  load.threads = 1;
  const auto model = folder.load(load);
  const std::int64_t vocab = model->program().vocab;
  std::map<std::string, std::vector<TokenId>> known;  // answers of requests alone
  const auto name = [](const Request& request) {
    std::string text;
    for (const TokenId id : request.prompt) text += std::to_string(id) + " ";
    return text + std::to_string(request.config.max_new_tokens) + " " +
           std::to_string(request.config.sample ? *request.config.seed : 9) +
           (request.beams ? "beams" : "");
  };
  for (std::int64_t schedule = 0; schedule < schedules(); ++schedule) {
    CAPTURE(schedule);
    Dice dice(static_cast<std::uint64_t>(schedule));
    EngineOptions options;
    options.cache_positions = 256 + 64 * dice.below(8);
    options.scheduler.most_running = 3 + dice.below(6);
    options.scheduler.prompt_rows = 1 + dice.below(64);
    options.speculate = dice.below(2) == 0;
    options.always_guess = dice.below(2) == 0;
    std::vector<std::unique_ptr<Job>> jobs;
    {
      BatchEngine engine(model, nullptr, options);
      const bool is_threaded = dice.below(2) == 0;
      if (is_threaded) engine.start();
      const std::int64_t count = 1 + dice.below(12);
      for (std::int64_t i = 0; i < count; ++i) {
        auto job = std::make_unique<Job>();
        job->request = random_request(dice, vocab);
        trouble(dice, *job);
        job->request.on_end = [job = job.get()](const RequestResult* result,
                                                std::exception_ptr error) {
          CHECK((result == nullptr) == (error != nullptr));
          ++job->ends;
        };
        try {
          job->ticket = engine.submit(job->request);
        } catch (const Error& error) {
          CHECK(error.code() == ErrorCode::invalid_argument);  // does not fit
          continue;
        }
        jobs.push_back(std::move(job));
        for (std::int64_t steps = dice.below(4); steps > 0 && !is_threaded; --steps) engine.step();
        if (dice.below(4) == 0) {
          Job& any = *jobs[static_cast<std::size_t>(dice.below(std::ssize(jobs)))];
          any.ticket->cancel();
          any.is_left_alone = false;
        }
      }
      const bool runs_out = dice.below(10) != 0;  // else the engine ends before they do
      for (const auto& job : jobs) {
        if (!runs_out) job->is_left_alone = false;
        while (runs_out && !is_threaded && !job->ticket->has_ended()) engine.step();
        if (runs_out) job->ticket->wait_until(std::nullopt);
      }
      if (runs_out && !is_threaded) {
        engine.clear_prefixes();
        engine.step();
        CHECK(engine.stats().blocks_used == 0);
        CHECK(engine.stats().running + engine.stats().waiting == 0);
      }
    }
    for (const auto& job : jobs) {
      CHECK(job->ends == 1);
      CHECK(job->ticket->has_ended());
      if (!job->is_left_alone) continue;
      auto& expected = known[name(job->request)];
      if (expected.empty()) {
        Request alone = job->request;
        alone.on_end = nullptr;
        expected = Generator(model, nullptr).run(alone).answers.at(0).ids;
      }
      CHECK(job->ticket->get().answers.at(0).ids == expected);
    }
  }
}
