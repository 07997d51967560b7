#include "cli/bench_machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "cli/machine.h"

namespace linnet {
namespace {

constexpr std::int64_t kPartBytes = std::int64_t{512} << 20;
constexpr double kSeconds = 0.04;  // of one measurement, at least
constexpr int kReadings = 3;

std::uint64_t probe_bytes(const ThreadPool& pool) {
  return static_cast<std::uint64_t>(kPartBytes) * (pool.size() > 1 ? 2 : 1);
}

// Every line once, as one stream; eight sums, so that no addition waits for another.
std::uint64_t read_all(std::span<const std::uint64_t> words) {
  std::uint64_t sums[8] = {};
  for (std::size_t at = 0; at + 8 <= words.size(); at += 8) {
    __builtin_prefetch(words.data() + at + 512);
    for (std::size_t i = 0; i < 8; ++i) sums[i] ^= words[at + i];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t each : sums) sum ^= each;
  return sum;
}

}  // namespace

CeilingProbe::CeilingProbe(const Kernels& kernels, ThreadPool& pool)
    : kernels_(kernels), pool_(pool), memory_(probe_bytes(pool), MemoryAccount::scratch()) {
  pool_.parallel_for(pool_.size(), 1, [&](std::int64_t begin, std::int64_t end) {
    const auto part = static_cast<std::int64_t>(memory_.size()) / pool_.size() / 64 * 64;
    std::memset(memory_.data() + begin * part, 1, static_cast<std::size_t>((end - begin) * part));
  });
}

double CeilingProbe::read_once() {
  const auto part = static_cast<std::int64_t>(memory_.size()) / pool_.size() / 64 * 64;
  std::atomic<std::uint64_t> sink{0};
  const auto start = Clock::now();
  pool_.parallel_for(pool_.size(), 1, [&](std::int64_t begin, std::int64_t end) {
    const auto words =
        memory_.as<std::uint64_t>().subspan(static_cast<std::size_t>(begin * part / 8),
                                            static_cast<std::size_t>((end - begin) * part / 8));
    sink.fetch_xor(read_all(words), std::memory_order_relaxed);
  });
  return static_cast<double>(part * pool_.size()) / seconds_since(start);
}

double CeilingProbe::multiply(std::int64_t (*kernel)(std::int64_t, const std::byte*, float*)) {
  std::int64_t rounds = 1 << 10;
  for (;;) {
    std::atomic<std::int64_t> operations{0};
    const auto start = Clock::now();
    pool_.parallel_for(pool_.size(), 1, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) std::byte operands[1024] = {};
      alignas(64) float sums[16];
      for (std::int64_t i = begin; i < end; ++i) operations += kernel(rounds, operands, sums);
    });
    const double seconds = seconds_since(start);
    if (seconds >= kSeconds) return static_cast<double>(operations) / seconds;
    rounds *= 4;
  }
}

Ceilings CeilingProbe::measure() {
  double read = 0;
  for (int i = 0; i < kReadings; ++i) read = std::max(read, read_once());
  return {read / 1e9, multiply(kernels_.multiply_i8) / 1e12,
          multiply(kernels_.multiply_f32) / 1e12};
}

Ceilings mean_of(const Ceilings& before, const Ceilings& after) {
  return {(before.read_gb + after.read_gb) / 2, (before.i8_tops + after.i8_tops) / 2,
          (before.f32_tflops + after.f32_tflops) / 2};
}

Json ceilings_json(const Ceilings& ceilings) {
  Json json = Json::object();
  json.set("read_gb_per_second", ceilings.read_gb);
  json.set("i8_tera_operations_per_second", ceilings.i8_tops);
  json.set("f32_tera_operations_per_second", ceilings.f32_tflops);
  return json;
}

int bench_machine(CommandContext& context, const BenchOptions& options) {
  const Kernels& kernels = choose_kernels();
  ThreadPool pool(static_cast<int>(context.globals.threads));
  CeilingProbe probe(kernels, pool);
  std::vector<double> read, i8, f32;
  for (std::int64_t run = 0; run < options.runs; ++run) {
    const Ceilings found = probe.measure();
    read.push_back(found.read_gb);
    i8.push_back(found.i8_tops);
    f32.push_back(found.f32_tflops);
  }
  struct Line {
    const char* name;
    const char* key;
    Spread spread;
  };
  const Line lines[] = {
      {"read, GB/s", "read_gb_per_second", spread_of(read)},
      {"int8, Tera-operations/s", "i8_tera_operations_per_second", spread_of(i8)},
      {"f32, Tera-operations/s", "f32_tera_operations_per_second", spread_of(f32)},
  };
  if (options.json) {
    Json json = Json::object();
    json.set("subject", "machine");
    json.set("processor", processor_name());
    json.set("kernels", kernels.name);
    json.set("threads", pool.size());
    for (const Line& line : lines) json.set(line.key, spread_json(line.spread));
    context.out.foreign(json.dump({.indent = 2}) + "\n");
    return 0;
  }
  context.out.foreign(
      fmt::format("{}, {} threads, kernels {}\n", processor_name(), pool.size(), kernels.name));
  context.out.line(fmt::format("{:<24} {:>8} {:>8} {:>8}", "", "min", "median", "max"));
  for (const Line& line : lines) {
    context.out.line(fmt::format("{:<24} {:>8.3f} {:>8.3f} {:>8.3f}", line.name, line.spread.min,
                                 line.spread.median, line.spread.max));
  }
  return 0;
}

}  // namespace linnet
