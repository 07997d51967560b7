#include "cli/bench_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file_map.h"
#include "base/random.h"
#include "cli/bench_machine.h"
#include "cli/machine.h"
#include "cli/open_model.h"
#include "cli/progress_bar.h"
#include "native/native_lane.h"

namespace linnet {
namespace {

constexpr std::int64_t kShortContext = 16;
constexpr std::int64_t kNewTokens = 16;  // of one run of a decode
constexpr std::int64_t kPrompt = 512;
constexpr std::int64_t kRows[] = {2, 4, 6, 8, 16, 32};

// One thing that is measured: `calls` calls of `rows` tokens each, behind `context` tokens.
struct Work {
  std::string name;
  std::int64_t context = 0;
  std::int64_t rows = 1;
  std::int64_t calls = 1;
  bool all_logits = false;  // of every row, else of the last
  std::int64_t runs = 5;
};

struct Measured {
  Work work;
  Spread seconds;     // of one call
  Ceilings ceilings;  // beside it
};

// What a call must at least read and multiply.
class Cost {
 public:
  explicit Cost(const NativeLane& lane) {
    const LoweredProgram& lowered = lane.lowered();
    for (const NativeStep& step : lowered.steps) {
      if (step.matrix == kNone) continue;
      const auto index = static_cast<std::size_t>(step.matrix);
      const PackedShape& shape = lane.matrices()[index].packed.shape();
      weight_bytes_ += static_cast<double>(shape.bytes());
      const bool is_selected =
          lowered.buffers[static_cast<std::size_t>(step.output.buffer)].rows == RowCount::selected;
      (is_selected ? head_operations_ : body_operations_) +=
          2.0 * static_cast<double>(shape.outputs) * static_cast<double>(shape.inputs);
      is_integer_ =
          is_integer_ || is_integer(shape.format) || shape.format == PackedFormat::grouped;
    }
    const NativeMemory memory =
        native_memory(lowered, lane.program(), {.cache = lane.cache_format()});
    position_bytes_ = static_cast<double>(memory.cache_block) / kBlockPositions;
  }

  double bytes(const Work& work) const {
    return weight_bytes_ + position_bytes_ * static_cast<double>(work.context + work.rows);
  }
  // Of the matrices: attention is not counted.
  double operations(const Work& work) const {
    return body_operations_ * static_cast<double>(work.rows) +
           head_operations_ * static_cast<double>(work.all_logits ? work.rows : 1);
  }
  double weight_bytes() const { return weight_bytes_; }
  double multiply_ceiling(const Ceilings& ceilings) const {
    return 1e12 * (is_integer_ ? ceilings.i8_tops : ceilings.f32_tflops);
  }

 private:
  double weight_bytes_ = 0, body_operations_ = 0, head_operations_ = 0, position_bytes_ = 0;
  bool is_integer_ = false;
};

// Runs the lane on random tokens.
class Runner {
 public:
  explicit Runner(const NativeLane& lane) : lane_(lane), cache_(lane.make_cache()) {}

  // Leaves exactly `length` tokens in the cache.
  void prepare(std::int64_t length) {
    if (cache_.length() > length) cache_.truncate(length);
    while (cache_.length() < length) {
      call(std::min<std::int64_t>(kPrompt, length - cache_.length()), false);
    }
  }
  void call(std::int64_t rows, bool all_logits) {
    const auto count = static_cast<std::size_t>(rows);
    std::vector<std::int32_t> tokens(count), positions(count), selected;
    for (auto& token : tokens) {
      token = static_cast<std::int32_t>(stream_.next_uniform() *
                                        static_cast<float>(lane_.program().vocab));
    }
    std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(cache_.length()));
    for (std::int64_t row = all_logits ? 0 : rows - 1; row < rows; ++row) {
      selected.push_back(static_cast<std::int32_t>(row));
    }
    const SequenceRows sequence[] = {{&cache_, rows}};
    Batch batch;
    batch.tokens = tokens;
    batch.positions = positions;
    batch.sequences = sequence;
    batch.selected = selected;
    logits_ = lane_.run(batch);
  }
  // FNV-1a of the last logits: the same numbers give the same word on every machine.
  std::uint64_t hash() const {
    std::uint64_t hash = 0xCBF29CE484222325u;
    for (const std::byte byte : std::as_bytes(std::span(logits_))) {
      hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3u;
    }
    return hash;
  }

 private:
  const NativeLane& lane_;
  KvCache cache_;
  RandomStream stream_{1};
  std::vector<float> logits_;
};

std::vector<Work> work_list(const BenchOptions& options, std::int64_t longest) {
  const std::int64_t context = std::min(options.context, longest - kNewTokens);
  std::vector<Work> list = {
      {"new token", kShortContext, 1, kNewTokens, false, options.runs},
      {fmt::format("prompt of {}", kPrompt), 0, kPrompt, 1, false, options.runs},
      {fmt::format("prompt of {}", context), 0, context, 1, false, options.runs},
      {fmt::format("new token after {}", context), context, 1, kNewTokens, false, options.runs},
  };
  for (const std::int64_t rows : kRows) {
    list.push_back({fmt::format("pass of {} rows", rows), kShortContext, rows,
                    std::max<std::int64_t>(1, 8 / rows), true, options.runs});
  }
  return list;
}

Measured measure(Runner& runner, const Work& work, CeilingProbe& probe) {
  std::vector<double> seconds;
  Measured measured{work, {}, probe.measure()};
  for (std::int64_t run = 0; run < work.runs; ++run) {
    runner.prepare(work.context);
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < work.calls; ++i) runner.call(work.rows, work.all_logits);
    seconds.push_back(seconds_since(start) / static_cast<double>(work.calls));
  }
  measured.seconds = spread_of(seconds);
  measured.ceilings = mean_of(measured.ceilings, probe.measure());
  return measured;
}

// What the load was, for the head of the table.
struct Subject {
  std::string model;
  std::string format;
  double load_seconds = 0;   // until the lane is ready
  double first_seconds = 0;  // until the first logits
  std::uint64_t resident = 0;
};

void print_table(Output& out, const Subject& subject, const Cost& cost,
                 const std::vector<Measured>& lines, const NativeLane& lane, std::uint64_t hash) {
  out.foreign(fmt::format(
      "{}: weights {} ({:.3f} GB read for each token), cache {}; {}, {} threads, kernels {}\n\n",
      subject.model, subject.format, cost.weight_bytes() / 1e9,
      cache_info(lane.cache_format()).name, processor_name(), lane.pool().size(),
      lane.kernels().name));
  out.foreign(
      fmt::format("Ready after {:.2f} s, first logits after {:.2f} s, at most {} resident. "
                  "Hash of the last logits {:016x}.\n\n",
                  subject.load_seconds, subject.first_seconds, byte_text(subject.resident), hash));
  out.line(
      "| work | tokens/s min | median | max | ms | of one row | GB/s | of reading | Tera-op/s | "
      "of multiplying |");
  out.line("|---|---|---|---|---|---|---|---|---|---|");
  for (const Measured& line : lines) {
    const double rows = static_cast<double>(line.work.rows), time = line.seconds.median;
    const double bytes = cost.bytes(line.work) / time,
                 operations = cost.operations(line.work) / time;
    out.line(fmt::format(
        "| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.0f} % | {:.3f} | {:.0f} % "
        "|",
        line.work.name, rows / line.seconds.max, rows / time, rows / line.seconds.min, 1e3 * time,
        time / lines[0].seconds.median, bytes / 1e9, 100 * bytes / (1e9 * line.ceilings.read_gb),
        operations / 1e12, 100 * operations / cost.multiply_ceiling(line.ceilings)));
  }
}

Json record(const Subject& subject, const Cost& cost, const std::vector<Measured>& lines,
            const NativeLane& lane, std::uint64_t hash) {
  Json json = Json::object();
  json.set("subject", "model");
  json.set("model", subject.model);
  json.set("processor", processor_name());
  json.set("kernels", lane.kernels().name);
  json.set("threads", lane.pool().size());
  json.set("weights", subject.format);
  json.set("cache", cache_info(lane.cache_format()).name);
  json.set("weight_bytes", cost.weight_bytes());
  json.set("load_seconds", subject.load_seconds);
  json.set("first_logits_seconds", subject.first_seconds);
  json.set("peak_resident_bytes", subject.resident);
  json.set("logits_hash", fmt::format("{:016x}", hash));
  Json results = Json::array();
  for (const Measured& line : lines) {
    const double rows = static_cast<double>(line.work.rows), time = line.seconds.median;
    const double bytes = cost.bytes(line.work) / time,
                 operations = cost.operations(line.work) / time;
    Json each = Json::object();
    each.set("name", line.work.name);
    each.set("context", line.work.context);
    each.set("rows", line.work.rows);
    each.set("seconds", spread_json(line.seconds));
    each.set("tokens_per_second", rows / time);
    each.set("share_of_reading", bytes / (1e9 * line.ceilings.read_gb));
    each.set("share_of_multiplying", operations / cost.multiply_ceiling(line.ceilings));
    each.set("ceilings", ceilings_json(line.ceilings));
    results.push_back(std::move(each));
  }
  json.set("results", std::move(results));
  return json;
}

std::string formats_of(const NativeLane& lane) {
  std::string text;
  for (const NativeLane::Matrix& matrix : lane.matrices()) {
    const std::string name(packed_format_name(matrix.packed.shape().format));
    if (text.find(name) == std::string::npos) text += (text.empty() ? "" : " and ") + name;
  }
  return text;
}

}  // namespace

int bench_model(CommandContext& context, const BenchOptions& options) {
  const auto start = Clock::now();
  const std::filesystem::path path = chosen_model(context.globals);
  ProgressBar bar("Measuring", context.terminal());
  const ModelFiles files = open_model_files(path, open_options(context.globals));
  const auto model = Model::load(files, load_options(context.globals));
  const auto* lane = dynamic_cast<const NativeLane*>(&model->lane());
  if (lane == nullptr) {
    fail(ErrorCode::unsupported, "only the native lane is measured: leave --lane away");
  }
  Subject subject{path.string(), formats_of(*lane), seconds_since(start), 0, 0};
  Runner runner(*lane);
  runner.call(1, false);
  subject.first_seconds = seconds_since(start);
  const Cost cost(*lane);
  CeilingProbe probe(lane->kernels(), lane->pool());
  const auto list = work_list(options, model->config().max_positions);
  std::vector<Measured> lines;
  for (const Work& work : list) {
    bar.update(static_cast<double>(lines.size()) / static_cast<double>(list.size()));
    lines.push_back(measure(runner, work, probe));
  }
  bar.erase();
  // Without the memory of the probe.
  subject.resident = peak_resident_bytes() - probe.bytes();
  const Json json = record(subject, cost, lines, *lane, runner.hash());
  const std::string text = json.dump({.indent = 2}) + "\n";
  if (!options.save.empty()) {
    write_file_atomically(options.save, as_bytes(text));
  }
  if (options.json) {
    context.out.foreign(text);
  } else {
    print_table(context.out, subject, cost, lines, *lane, runner.hash());
  }
  return 0;
}

}  // namespace linnet
