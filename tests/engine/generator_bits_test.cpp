// What must not change a single bit: cache, chunks, threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/generator.h"
#include "engine/tiny_model.h"

namespace linnet {
namespace {

using Ids = std::vector<TokenId>;

Ids join(Ids ids, TokenId first, TokenId last) {
  for (TokenId id = first; id <= last; ++id) ids.push_back(id);
  return ids;
}

GenerationConfig config_of(bool sample) {
  GenerationConfig config;
  config.max_new_tokens = 16;
  config.sample = sample;
  config.temperature = 3;
  config.seed = 5;
  return config;
}

// Appends `ids` to the cache in chunks; all logits.
std::vector<float> logits_of(const Model& model, KvCache& cache, const Ids& ids,
                             std::size_t chunk) {
  std::vector<float> all;
  for (std::size_t at = 0; at < ids.size(); at += chunk) {
    const std::size_t rows = std::min(chunk, ids.size() - at);
    std::vector<std::int32_t> positions(rows), selected(rows);
    std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(cache.length()));
    std::iota(selected.begin(), selected.end(), 0);
    const SequenceRows sequence{&cache, static_cast<std::int64_t>(rows)};
    Batch batch;
    batch.tokens = std::span(ids).subspan(at, rows);
    batch.positions = positions;
    batch.sequences = {&sequence, 1};
    batch.selected = selected;
    const auto logits = model.run(batch);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TEST_CASE("prompts A, B, A again: the answers of cold runs") {
  const Ids a = join({}, 1, 20), b = join(join({}, 1, 10), 30, 35);
  for (const bool sample : {false, true}) {
    const auto cold = [&](const Ids& prompt) {
      return Generator(tiny_model(), tiny_tokenizer()).generate(prompt, config_of(sample)).ids;
    };
    Generator warm(tiny_model(), tiny_tokenizer());
    const auto first = warm.generate(a, config_of(sample));
    CHECK(first.cached_tokens == 0);
    CHECK(first.ids == cold(a));
    const auto second = warm.generate(b, config_of(sample));
    CHECK(second.cached_tokens == 10);
    CHECK(second.ids == cold(b));
    const auto third = warm.generate(a, config_of(sample));
    // A full hit: only the last prompt token is computed again.
    CHECK(third.cached_tokens == 19);
    CHECK(third.ids == first.ids);
    const auto fourth = warm.generate(a, config_of(sample));
    CHECK(fourth.cached_tokens == 19);
    CHECK(fourth.ids == first.ids);
    warm.clear();
    CHECK(warm.context_tokens() == 0);
    CHECK(warm.generate(a, config_of(sample)).cached_tokens == 0);
  }
}

TEST_CASE("the next turn of a chat computes only what is new") {
  Generator warm(tiny_model(), tiny_tokenizer());
  Ids prompt = join({}, 100, 180);
  const auto first = warm.generate(prompt, config_of(false));
  prompt.insert(prompt.end(), first.ids.begin(), first.ids.end());
  prompt = join(std::move(prompt), 300, 309);
  const auto second = warm.generate(prompt, config_of(false));
  // The last new id was chosen, never computed.
  CHECK(second.cached_tokens == 81 + 15);
  Generator cold(tiny_model(), tiny_tokenizer());
  CHECK(second.ids == cold.generate(prompt, config_of(false)).ids);
}

TEST_CASE("logits after a truncated cache have the bits of a cold run") {
  const auto model = tiny_model();
  const Ids a = join({}, 1, 90), b = join(join({}, 1, 70), 200, 215);
  KvCache warm = model->make_cache(), cold = model->make_cache();
  logits_of(*model, warm, a, a.size());
  warm.truncate(70);
  const auto warm_logits = logits_of(*model, warm, join({}, 200, 215), 16);
  const auto cold_logits = logits_of(*model, cold, b, b.size());
  CHECK(same_bits(warm_logits, std::span(cold_logits).last(warm_logits.size())));
}

// More threads than cores are slow on a busy machine, so those pairs compute in few calls.
struct Cut {
  int threads;
  std::size_t chunk;
};
constexpr Cut kCuts[] = {{1, 1}, {1, 7}, {2, 64}, {2, 5}, {3, 64}, {5, 81}};

TEST_CASE("chunks and threads change no bit") {
  const Ids prompt = join({}, 500, 580);
  KvCache plain = tiny_model(1)->make_cache();
  const auto expected = logits_of(*tiny_model(1), plain, prompt, prompt.size());
  for (const Cut& cut : kCuts) {
    CAPTURE(cut.threads);
    CAPTURE(cut.chunk);
    const auto model = tiny_model(cut.threads);
    CHECK(model->pool().size() == cut.threads);
    KvCache cache = model->make_cache();
    CHECK(same_bits(logits_of(*model, cache, prompt, cut.chunk), expected));
  }
}

TEST_CASE("chunks and threads change no token of a generation") {
  const Ids prompt = join({}, 500, 580);
  GenerationConfig config = config_of(true);
  config.max_new_tokens = 5;
  const Ids expected = Generator(tiny_model(1), nullptr).generate(prompt, config).ids;
  for (const Cut& cut : kCuts) {
    CAPTURE(cut.threads);
    CAPTURE(cut.chunk);
    GenerateOptions options;
    options.prefill_rows = static_cast<std::int64_t>(cut.chunk);
    Generator generator(tiny_model(cut.threads), nullptr);
    CHECK(generator.generate(prompt, config, options).ids == expected);
  }
}

// The tiny model with a rotation that depends on how long the sequence is.
std::shared_ptr<const Model> model_with_rope(const std::string& scaling, int max_positions) {
  ModelFiles files = open_model_files(tiny_folder());
  files.config.set("max_position_embeddings", max_positions);
  files.config.set("rope_scaling", Json::parse(scaling, "scaling"));
  files.config.set("rope_parameters", Json());
  return Model::load(files);
}

TEST_CASE("rotations that depend on the length: chunks and warm caches change nothing") {
  const Ids shorter = join({}, 1, 12), longer = join({}, 1, 40);
  // Of both kinds a sequence may have 64 positions.
  for (const std::string type : {"dynamic", "longrope"}) {
    CAPTURE(type);
    std::string ones = "1";
    for (int i = 1; i < tiny_model()->config().head_dim / 2; ++i) ones += ", 1";
    std::string factors = ones;
    std::replace(factors.begin(), factors.end(), '1', '4');
    const auto model =
        model_with_rope(type == "dynamic" ? R"({"rope_type": "dynamic", "factor": 4.0,
                               "original_max_position_embeddings": 16})"
                                          : R"({"rope_type": "longrope", "factor": 4.0,
                               "original_max_position_embeddings": 16, "short_factor": [)" +
                                                ones + R"(], "long_factor": [)" + factors + "]}",
                        type == "dynamic" ? 16 : 64);
    const std::int64_t limit = model->program().ropes[0].limit;
    REQUIRE(limit > 12);
    REQUIRE(limit < 40);
    const auto cold = [&](const Ids& prompt, std::int64_t chunk) {
      GenerateOptions options;
      options.prefill_rows = chunk;
      return Generator(model, tiny_tokenizer()).generate(prompt, config_of(true), options).ids;
    };
    CHECK(cold(longer, 7) == cold(longer, 256));
    Generator warm(model, tiny_tokenizer());
    CHECK(warm.generate(shorter, config_of(true)).ids == cold(shorter, 256));
    CHECK(warm.generate(longer, config_of(true)).ids == cold(longer, 256));
    CHECK(warm.generate(shorter, config_of(true)).ids == cold(shorter, 256));
  }
}

}  // namespace
}  // namespace linnet
