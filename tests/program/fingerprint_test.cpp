// Bit-exactness is promised, so the bits are pinned: these fingerprints were the same from SSE2 and
// AVX-512 builds on x86-64 and from an aarch64 build. A change here is a change of the definition.
#include <doctest/doctest.h>

#include <bit>

#include "program/random_program.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

// FNV-1a over whole words.
template <typename Word>
std::uint64_t mixed(std::uint64_t hash, Word word) {
  return (hash ^ word) * 0x100000001b3u;
}

constexpr std::uint64_t kStart = 0xcbf29ce484222325u;

}  // namespace

TEST_CASE("the logits of a random program have the same bits everywhere") {
  const ReferenceLane lane = RandomProgram().lane(2);
  KvCache cache = lane.make_cache();
  std::vector<std::int32_t> tokens(200), positions(200), selected(200);
  for (std::int32_t i = 0; i < 200; ++i) {
    tokens[i] = i * 7919 % kVocab, positions[i] = i * 300, selected[i] = i;
  }
  const SequenceRows rows[] = {{&cache, 200}};
  Batch batch;
  batch.tokens = tokens, batch.positions = positions;
  batch.sequences = rows, batch.selected = selected;
  std::uint64_t hash = kStart;
  for (const float logit : lane.run(batch)) {
    const auto bits = std::bit_cast<std::uint32_t>(logit);
    for (int shift = 0; shift < 32; shift += 8) hash = mixed(hash, bits >> shift & 0xFF);
  }
  CHECK(hash == 0x2afbdba0f9ed62efu);
}

TEST_CASE("exp, activations, sin and cos have the same bits everywhere") {
  std::uint64_t hash = kStart;
  for (float x = -90; x < 90; x += 0.001f) {
    const float sum =
        activate(Activation::silu, x) + activate(Activation::gelu_tanh, x) + exp_f32(x);
    hash = mixed(hash, std::bit_cast<std::uint32_t>(sum));
  }
  for (int i = 0; i < 200000; ++i) {
    hash = mixed(hash, std::bit_cast<std::uint64_t>(sin_f64(i * 0.37) + cos_f64(i * 1.7)));
  }
  CHECK(hash == 0xeef5de1d9c6fde51u);
}
