// Work that is repeated a thousand times must not make the process grow. Measured by resident
// memory, which says nothing under a sanitizer.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "base/memory_account.h"
#include "formats/safetensors.h"
#include "model/model_folder.h"
#include "native/native_lane.h"
#include "program/run_sequence.h"
#include "time_limit.h"

using namespace linnet;
using namespace linnet::testing;

namespace {

constexpr bool kSanitized = kTimeFactor > 3;

// A line of /proc/self/status, in bytes: "VmRSS", "RssAnon".
std::int64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == name + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  FAIL("no " << name);
  return 0;
}

// What the process grew by in `count` turns, after some to warm up.
template <typename F>
std::int64_t growth(int count, F turn) {
  for (int i = 0; i < count / 10; ++i) turn();
  const std::int64_t before = status_bytes("VmRSS");
  for (int i = 0; i < count; ++i) turn();
  return status_bytes("VmRSS") - before;
}

}  // namespace

TEST_CASE("2000 buffers of 1 MB" * doctest::skip(kSanitized)) {
  CHECK(growth(2000, [] {
          Buffer buffer(1 << 20, MemoryAccount::scratch());
          std::memset(buffer.data(), 1, buffer.size());
        }) <= 16 << 20);
}

TEST_CASE("1000 runs of a quantized lane" * doctest::skip(kSanitized)) {
  const RandomProgram program;
  NativeOptions options;
  options.weights = options.head = PackedFormat::n4;
  options.cache = CacheFormat::i8;
  const NativeLane lane(program.program(), program.weights(), std::make_shared<ThreadPool>(2),
                        options);
  const auto tokens = some_tokens(1, 70);
  CHECK(growth(1000, [&] { run_alone(lane, tokens); }) <= 4 << 20);
  CHECK(MemoryAccount::cache().active() == 0);
}

TEST_CASE("500 lanes made, run and destroyed" * doctest::skip(kSanitized)) {
  const RandomProgram program;
  const auto pool = std::make_shared<ThreadPool>(2);
  const auto tokens = some_tokens(2, 20);
  CHECK(growth(500, [&] {
          run_alone(NativeLane(program.program(), program.weights(), pool), tokens);
          run_alone(ReferenceLane(program.program(), program.weights(), pool), tokens);
        }) <= 4 << 20);
  CHECK(MemoryAccount::weights().active() == 0);
  CHECK(MemoryAccount::scratch().active() == 0);
  CHECK(MemoryAccount::scratch().cached() == 0);
}

TEST_CASE("500 loads of a model" * doctest::skip(kSanitized)) {
  const ModelFolder folder;
  LoadOptions options;
  options.threads = 2;
  CHECK(growth(500, [&] { folder.load(options); }) <= 4 << 20);
}

TEST_CASE("64 MB of weights are read where they lie" * doctest::skip(kSanitized)) {
  const ModelFolder folder;
  const std::string path = folder.path / "large.safetensors";
  constexpr std::int64_t kBytes = 64 << 20;
  std::string header = R"({"w":{"dtype":"F32","shape":[4096,4096],"data_offsets":[0,67108864]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t size = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&size), 8);
  file << header;
  file.close();
  REQUIRE(::truncate(path.c_str(), static_cast<off_t>(8 + size) + kBytes) == 0);

  const std::int64_t before = status_bytes("VmRSS"), own = status_bytes("RssAnon");
  const auto opened = SafetensorsFile::open(path);
  const Tensor tensor = opened->tensor("w");
  CHECK(tensor.bytes().size() == kBytes);
  CHECK(status_bytes("VmRSS") - before <= 4 << 20);
  std::vector<float> row(4096);
  for (std::int64_t i = 0; i < 4096; ++i) tensor.decode_row(i, row.data());
  // All pages were read now: those of the file, not of our own.
  CHECK(status_bytes("RssAnon") - own <= 4 << 20);
  CHECK(status_bytes("VmRSS") - before >= kBytes / 2);
}
