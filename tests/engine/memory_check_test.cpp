// Models that do not fit a memory limit are refused with the sum.
#include <doctest/doctest.h>

#include "base/error.h"
#include "base/memory_account.h"
#include "base/telemetry.h"
#include "engine/generator.h"
#include "engine/lanes.h"
#include "engine/pack.h"
#include "engine/tiny_model.h"
#include "formats/temp_folder.h"

using namespace linnet;

namespace {

LoadOptions limited(LaneChoice choice, std::uint64_t limit, std::int64_t context) {
  choice.memory_limit = limit;
  LoadOptions options;
  options.threads = 2;
  options.context = context;
  choose_lane(choice, options);
  return options;
}

struct Limit {
  explicit Limit(std::int64_t bytes) { set_memory_limit(bytes); }
  ~Limit() { set_memory_limit(0); }
};

}  // namespace

TEST_CASE("what is added up is what is then held") {
  const ModelFiles files = open_model_files(tiny_folder());
  const std::int64_t before = memory_stats().active;  // of other tests
  for (const char* weights : {"f32", "i8"}) {
    LaneChoice choice;
    choice.weights = weights;
    std::uint64_t low = 1 << 10, high = 1 << 30;  // refused, accepted
    while (high - low > 1) {
      const std::uint64_t middle = (low + high) / 2;
      LoadOptions options = limited(choice, middle, 1024);
      bool is_refused = false;
      // Nothing is loaded: the check comes first, and then this error.
      options.make_lane = [](auto...) -> std::unique_ptr<Lane> { return nullptr; };
      const auto check = options.before_weights;
      options.before_weights = [&](const auto&... given) {
        try {
          check(given...);
        } catch (const Error& error) {
          CHECK(error.code() == ErrorCode::out_of_memory);
          is_refused = true;
        }
        fail(ErrorCode::cancelled, "enough");
      };
      CHECK_THROWS_AS(Model::load(files, options), Error);
      (is_refused ? low : high) = middle;
    }
    // With what just fits a sequence of that length can be computed to its end.
    const auto limit = static_cast<std::int64_t>(high);
    const Limit hard(limit);
    const auto model = Model::load(files, limited(choice, high, 1024));
    CHECK(model->context() == 1024);
    Generator generator(model, nullptr);
    const std::vector<TokenId> prompt(1020, 5);
    GenerationConfig config;
    config.max_new_tokens = 3;
    CHECK(generator.generate(prompt, config).ids.size() > 0);
    // And it was not far too much: tiled activations and segments are counted generously.
    const MemoryStats used = memory_stats();
    CHECK(used.active + used.cached - before > (limit - before) * 6 / 10);
  }
}

TEST_CASE("the refusal tells the numbers and what would fit") {
  const ModelFiles files = open_model_files(tiny_folder());
  std::string message;
  try {
    Model::load(files, limited({}, 5000000, 0));
  } catch (const Error& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("memory limit of 5.0 MB") != std::string::npos);
  CHECK(message.find("of cache (") != std::string::npos);
  CHECK(message.find("too much") != std::string::npos);
}

TEST_CASE("beyond the limit a run is an error, and the sequence can go on") {
  LoadOptions options;
  options.threads = 1;
  choose_lane({}, options);
  const auto model = Model::load(open_model_files(tiny_folder()), options);
  Generator generator(model, nullptr);
  GenerationConfig config;
  config.max_new_tokens = 2;
  config.temperature = 0;
  const std::vector<TokenId> shorter(10, 5), longer(400, 5);
  const auto expected = generator.generate(shorter, config).ids;
  const std::int64_t held = memory_stats().active + memory_stats().cached;
  {
    const Limit limit(held + 1000);
    CHECK_THROWS_WITH_AS(generator.generate(longer, config), doctest::Contains("the limit is"),
                         Error);
    CHECK(generator.generate(shorter, config).ids == expected);
  }
  CHECK(generator.generate(longer, config).ids.size() > 0);
}

TEST_CASE("packed models are added up too, without weights, and tell what is held") {
  const TempFolder folder;
  const auto packed = folder / "packed";
  LaneChoice choice;
  choice.weights = "f32";
  {
    LoadOptions options;
    choose_lane(choice, options);
    const ModelFiles files = open_model_files(tiny_folder());
    pack_model(*Model::load(files, options), files, packed, false);
  }
  const ModelFiles files = open_model_files(packed);
  choice.weights = "auto";
  const auto held = [] { return static_cast<std::uint64_t>(memory_stats().active); };
  // Keys and values of 4096 positions, 8 layers and 2 heads of 32, in f32.
  const std::uint64_t cache = std::uint64_t{4096} * 8 * 2 * 2 * 32 * 4;
  std::string message;
  try {
    Model::load(files, limited(choice, held() + cache, 0));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::out_of_memory);
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("0.0 MB of weights (as they were packed)") != std::string::npos);
  CHECK(message.find("--max-context") != std::string::npos);
  CHECK(message.find("with --cache i8") != std::string::npos);
  CHECK(message.find("--weights") == std::string::npos);

  int told = 0;
  const std::uint64_t limit = held() + 2 * cache;
  const auto subscription = Telemetry::instance().subscribe(
      [&](const TelemetryEvent& event) { told += event.name == "memory.stats"; });
  const auto model = Model::load(files, limited(choice, limit, 0));
  CHECK(told == 2);  // by the check, and after the model was loaded
  CHECK_NOTHROW(Model::load(files, limited(choice, 0, 0)));
  CHECK(told == 3);
}
