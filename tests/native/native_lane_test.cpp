// The native lane against the reference lane, and against itself: the same bits for every cutting,
// company, number of threads and instruction set.
#include "native/native_lane.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "program/random_program.h"
#include "program/reference_lane.h"
#include "program/run_sequence.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

// The integer formats also with an int8 cache, f16 with one of f16.
std::unique_ptr<NativeLane> native(PackedFormat format, int threads = 1,
                                   const Kernels* kernels = nullptr,
                                   const RandomProgram& program = RandomProgram()) {
  NativeOptions options;
  options.weights = options.head = format;
  options.cache = is_integer(format)            ? CacheFormat::i8
                  : format == PackedFormat::f16 ? CacheFormat::f16
                                                : CacheFormat::f32;
  options.kernels = kernels;
  return std::make_unique<NativeLane>(program.program(), program.weights(),
                                      std::make_shared<ThreadPool>(threads), options);
}

std::vector<std::int32_t> best_tokens(const std::vector<float>& logits) {
  std::vector<std::int32_t> best;
  for (auto row = logits.begin(); row != logits.end(); row += kVocab) {
    best.push_back(static_cast<std::int32_t>(std::max_element(row, row + kVocab) - row));
  }
  return best;
}

}  // namespace

TEST_CASE("f32: the reference lane's tokens, its logits to rounding") {
  for (const auto& [first, second, window] :
       {std::tuple{true, false, 0}, {false, true, 0}, {true, true, 5}, {false, false, 64}}) {
    const RandomProgram program(first, second, window);
    const auto tokens = some_tokens(1, 150);
    const auto expected = run_alone(program.lane(), tokens);
    const auto got = run_alone(*native(PackedFormat::f32, 1, nullptr, program), tokens);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(std::fabs(got[i] - expected[i]) <= 1e-4 + 1e-4 * std::fabs(expected[i]));
    }
    CHECK(best_tokens(got) == best_tokens(expected));
  }
}

TEST_CASE("other formats stay near the reference") {
  const auto tokens = some_tokens(2, 40);
  const auto expected = run_alone(RandomProgram().lane(), tokens);
  double power = 0;
  for (const float value : expected) power += static_cast<double>(value) * value;
  struct Bound {
    PackedFormat format;
    double most;
  };
  for (const Bound& bound : {Bound{PackedFormat::bf16, 0.01},
                             {PackedFormat::f16, 0.001},
                             {PackedFormat::mxfp8, 0.08},
                             {PackedFormat::nf4, 0.25},
                             {PackedFormat::i8, 0.04},
                             {PackedFormat::s6, 0.08},
                             {PackedFormat::n4, 0.25}}) {
    const PackedFormat format = bound.format;
    CAPTURE(packed_format_name(format));
    const auto got = run_alone(*native(format), tokens);
    double error = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      error += static_cast<double>(got[i] - expected[i]) * (got[i] - expected[i]);
    }
    CHECK(std::sqrt(error / power) < bound.most);
    CHECK(error > 0);
  }
}

TEST_CASE("the same bits for any cutting of the sequence") {
  for (const PackedFormat format : kPackedFormats) {
    CAPTURE(packed_format_name(format));
    check_any_cutting(*native(format, 2), 3);
    check_forks(*native(format, 2), 3);
  }
}

TEST_CASE("the same bits for any number of threads and on every instruction set") {
  const auto tokens = some_tokens(4, 70);
  for (const PackedFormat format : kPackedFormats) {
    CAPTURE(packed_format_name(format));
    const auto expected = run_alone(*native(format, 1, all_kernels().back()), tokens);
    for (const int threads : {1, 2, 3, 5}) {
      for (const Kernels* kernels : all_kernels()) {
        if (!kernels->is_supported()) continue;
        CAPTURE(kernels->name);
        CHECK(run_alone(*native(format, threads, kernels), tokens) == expected);
      }
    }
  }
}

TEST_CASE("the same bits alone and among other sequences") {
  for (const PackedFormat format : kPackedFormats) {
    CAPTURE(packed_format_name(format));
    check_any_company(*native(format, 2));
  }
}

TEST_CASE("long contexts are merged from their segments") {
  const auto tokens = some_tokens(5, 2200);
  const auto expected = run_alone(RandomProgram().lane(2), tokens);
  const auto lane = native(PackedFormat::f32, 2);
  const auto got = run_alone(*lane, tokens);
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(std::fabs(got[i] - expected[i]) <= 1e-4 + 1e-4 * std::fabs(expected[i]));
  }
}

TEST_CASE("what the native lane lacks is refused; bad ids are named") {
  const auto lane = native(PackedFormat::f32);
  const std::vector<std::int32_t> tokens = {1, 2}, positions = {0, 1};
  KvCache cache = lane->make_cache();
  const SequenceRows rows[] = {{&cache, 2}};
  Batch batch;
  batch.tokens = tokens, batch.positions = positions, batch.sequences = rows;
  const std::vector<float> mask(2 * kHeads, 1.0f);
  batch.head_mask = mask;
  CHECK_THROWS_WITH_AS(lane->run(batch), doctest::Contains("--lane reference"), Error);
  batch.head_mask = {};
  const std::vector<std::int32_t> bad = {1, kVocab};
  batch.tokens = bad;
  CHECK_THROWS_WITH_AS(lane->run(batch), doctest::Contains("token id 50 in row 1"), Error);
  CHECK(cache.length() == 0);
}

TEST_CASE("a program is lowered to few steps, and printed") {
  const RandomProgram program;
  const LoweringResult result = lower(*program.program());
  CHECK(result.reason.empty());
  // Per layer: qkv, attention, output, gate and up, down.
  CHECK(result.program.steps.size() == 1 + 2 * 5 + 2);
  CHECK(result.program.table_matrix != kNone);
  const std::string text = lowered_text(result.program, *program.program());
  CHECK(text.find("gated") != std::string::npos);
  CHECK(text.find("rotated") != std::string::npos);
}

TEST_CASE("only what gives the output, or is the embedding, has the head's format") {
  const RandomProgram random;
  Program program = *random.program();
  NativeOptions options;
  options.weights = PackedFormat::n4;
  options.head = PackedFormat::i8;
  const auto formats = [&](const Program& of) {
    const NativeLane lane(std::make_shared<const Program>(of), random.weights(),
                          std::make_shared<ThreadPool>(1), options);
    std::vector<PackedFormat> found;
    for (const auto& matrix : lane.matrices()) found.push_back(matrix.packed.shape().format);
    return found;
  };
  std::vector<PackedFormat> expected(8, PackedFormat::n4);
  expected.push_back(PackedFormat::i8);
  CHECK(formats(program) == expected);
  // The bare decoder: the last matrix of the last layer is no head.
  program.steps.pop_back();
  program.output = program.steps.back().output;
  expected.pop_back();
  CHECK(formats(program) == expected);
}

TEST_CASE("the memory that was foretold is the memory that is held") {
  const RandomProgram random;
  for (const PackedFormat format : kPackedFormats) {
    const auto lane = native(format);
    NativeOptions options;
    options.weights = options.head = format;
    options.cache = lane->cache_format();
    const NativeMemory memory = native_memory(lane->lowered(), lane->program(), options);
    std::uint64_t held = 0;
    for (const auto& matrix : lane->matrices()) held += matrix.packed.shape().bytes();
    CHECK(memory.weights == held);
    CHECK(memory.cache_block == lane->make_cache().bytes_per_block());
  }
}

TEST_CASE("a cache of f16 holds what one of f32 would, rounded") {
  const RandomProgram program;
  const auto tokens = some_tokens(4, 70);
  std::vector<float> keys[2], values[2];
  for (const CacheFormat format : {CacheFormat::f32, CacheFormat::f16}) {
    NativeOptions options;
    options.cache = format;
    const NativeLane lane(program.program(), program.weights(), std::make_shared<ThreadPool>(1),
                          options);
    KvCache cache = lane.make_cache();
    run_all(lane, cache, tokens);
    for (const std::int64_t position : {0, 17, 69}) {
      std::vector<float> key(static_cast<std::size_t>(lane.program().kv_width)), value = key;
      lane.read_cache(cache, 0, position, key.data(), value.data());
      const auto which = static_cast<std::size_t>(format == CacheFormat::f16);
      keys[which].insert(keys[which].end(), key.begin(), key.end());
      values[which].insert(values[which].end(), value.begin(), value.end());
    }
  }
  for (auto* numbers : {&keys[0], &values[0]}) {
    for (float& number : *numbers) number = f16_to_f32(f32_to_f16(number));
  }
  CHECK(keys[1] == keys[0]);
  CHECK(values[1] == values[0]);
}
