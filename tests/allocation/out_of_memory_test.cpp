// Out of memory at every allocation, one after the other: an error that says so, nothing leaks, and
// what was there can be used on.
#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "allocation/failing_allocation.h"
#include "base/error.h"
#include "base/memory_account.h"
#include "engine/generator.h"
#include "engine/lanes.h"
#include "model/model_folder.h"
#include "native/stream.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

struct Held {
  std::int64_t weights = MemoryAccount::weights().active();
  std::int64_t cache = MemoryAccount::cache().active();
  std::int64_t scratch = MemoryAccount::scratch().active();
  bool operator==(const Held&) const = default;
};

// Lets the first allocation of `work` fail, then the second, and so on until it succeeds without a
// failure; `check` looks at what each left behind. Returns the number of failures that were errors.
int fail_each(const std::function<void()>& work, const std::function<void()>& check) {
  int errors = 0;
  for (std::int64_t n = 1;; ++n) {
    std::string fault;
    bool has_failed = false, is_error = false;
    {
      const FailingAllocation failing(n);
      try {
        work();
      } catch (const Error& error) {
        is_error = error.code() == ErrorCode::out_of_memory;
        if (!is_error) fault.assign(error.what(), 0, 100);
      } catch (const std::exception& error) {
        fault.assign(error.what(), 0, 100);
      }
      has_failed = failing.has_failed();
    }
    if (!fault.empty() || (is_error && !has_failed)) {
      FAIL_CHECK("allocation " << n << ": " << fault);
    }
    errors += is_error;
    check();
    if (!has_failed) return errors;
    REQUIRE(n < 100000);
  }
}

LoadOptions lane_options(const std::string& lane, const std::string& weights = "auto") {
  LaneChoice choice;
  choice.lane = lane;
  choice.weights = weights;
  choice.cache = weights == "i8" ? "i8" : "f32";
  LoadOptions options;
  options.threads = 2;
  choose_lane(choice, options);
  return options;
}

const std::array<std::array<const char*, 2>, 3> kLanes = {
    {{"reference", "auto"}, {"native", "f32"}, {"native", "i8"}}};

// Tokens whose arrays are there before anything fails.
class Prompt {
 public:
  Prompt(std::int32_t first_position, std::vector<std::int32_t> tokens)
      : tokens_(std::move(tokens)), positions_(tokens_.size()), selected_(tokens_.size()) {
    std::iota(positions_.begin(), positions_.end(), first_position);
    std::iota(selected_.begin(), selected_.end(), 0);
  }
  std::vector<float> run(const Model& model, KvCache& cache) const {
    const SequenceRows rows[] = {{&cache, static_cast<std::int64_t>(tokens_.size())}};
    Batch batch;
    batch.tokens = tokens_, batch.positions = positions_, batch.sequences = rows;
    batch.selected = selected_;
    return model.run(batch);
  }

 private:
  std::vector<std::int32_t> tokens_, positions_, selected_;
};

}  // namespace

TEST_CASE("opening and loading a model") {
  const ModelFolder folder;
  folder.load();  // writes the files
  const Held before;
  for (const auto& [lane, weights] : kLanes) {
    const std::string lane_name = lane;
    CAPTURE(lane_name);
    const LoadOptions options = lane_options(lane, weights);
    std::optional<ModelFiles> files = open_model_files(folder.path);
    const int load_errors =
        fail_each([&] { Model::load(*files, options); }, [&] { CHECK(Held() == before); });
    CHECK(load_errors > 50);
    files.reset();
    const int open_errors =
        fail_each([&] { open_model_files(folder.path); }, [&] { CHECK(Held() == before); });
    CHECK(open_errors > 50);
  }
}

TEST_CASE("loading a tokenizer") {
  const ModelFolder folder;
  folder.load();  // writes the files
  write_file_atomically(folder.path / "tokenizer.json", as_bytes(R"json({
    "added_tokens": [{"id": 5, "content": "<x>", "special": true}, {"id": 6, "content": "<y>"}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4},
              "merges": [["a", "b"], "Ġ ab"]}})json"));
  const ModelFiles files = open_model_files(folder.path);
  // simdjson chooses its kernels once, in a function that may not throw.
  std::shared_ptr<const Tokenizer> tokenizer = files.load_tokenizer();
  CHECK(fail_each([&] { tokenizer = files.load_tokenizer(); }, [] {}) > 50);
  CHECK(tokenizer->decode(std::vector<TokenId>{3, 4}, false) == "ab ab");
  CHECK(fail_each([&] { files.load_tokenizer_data(); }, [] {}) > 50);
}

TEST_CASE("running a prompt: the sequence stays as it was, and goes on with the same bits") {
  const ModelFolder folder;
  for (const auto& [lane, weights] : kLanes) {
    const std::string lane_name = lane;
    CAPTURE(lane_name);
    const auto model = folder.load(lane_options(lane, weights));
    KvCache cache = model->make_cache(), other = model->make_cache();
    const Prompt start(0, {1, 2, 3}), more(3, std::vector<std::int32_t>(520, 4));  // more memory
    start.run(*model, cache);
    start.run(*model, other);
    const auto expected = more.run(*model, other);
    other = model->make_cache();
    const Held before;
    const int errors = fail_each([&] { more.run(*model, cache); },
                                 [&] {
                                   if (cache.length() == 523) cache.truncate(3);
                                   CHECK(cache.length() == 3);
                                   CHECK(Held() == before);
                                 });
    CHECK(errors > 10);
    CHECK(more.run(*model, cache) == expected);
  }
}

TEST_CASE("generating: the generator can be used on") {
  const ModelFolder folder;
  GenerationConfig config;
  config.temperature = 1.5f;
  config.seed = 7;
  config.max_new_tokens = 5;
  const std::vector<TokenId> prompt = {5, 6, 7};
  for (const auto& [lane, weights] : kLanes) {
    const std::string lane_name = lane;
    CAPTURE(lane_name);
    const auto model = folder.load(lane_options(lane, weights));
    Generator generator(model, nullptr);
    const auto expected = generator.generate(prompt, config).ids;
    const Held before;
    std::vector<TokenId> ids;
    const int errors = fail_each([&] { ids = generator.generate(prompt, config).ids; },
                                 [&] {
                                   CHECK(MemoryAccount::weights().active() == before.weights);
                                   CHECK(MemoryAccount::scratch().active() == before.scratch);
                                 });
    CHECK(errors > 50);
    CHECK(ids == expected);
    CHECK(Held() == before);
  }
}

TEST_CASE("streams: calls fail or are answered, and the stream goes on") {
  const int made = fail_each([] { Stream().call([] {}); }, [] {});
  CHECK(made > 2);
  Stream stream;
  int answer = 0;
  const int errors = fail_each([&] { answer = stream.post([] { return 3; }).get(); },
                               [&] { CHECK(stream.call([] { return 4; }) == 4); });
  CHECK(errors > 0);
  CHECK(answer == 3);
}
