#include "quantize/calibration.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "program/reference_lane.h"
#include "quantize/outer_products.h"

namespace linnet {
namespace {

// Positions, sequence and selection of one window that is read as a whole.
struct WindowBatch {
  WindowBatch(const std::vector<float>& rows, std::int64_t count, KvCache& cache)
      : sequence{&cache, count}, indices(static_cast<std::size_t>(count)) {
    std::iota(indices.begin(), indices.end(), 0);
    batch.embeddings = rows;
    batch.positions = indices;
    batch.sequences = {&sequence, 1};
    batch.selected = indices;
  }
  SequenceRows sequence;
  std::vector<std::int32_t> indices;
  Batch batch;
};

}  // namespace

std::vector<float> Moments::squares() const {
  std::vector<float> out;
  const float* values = gram.as<float>().data();
  for (std::int64_t i = 0; i < width; ++i) out.push_back(values[i * width + i]);
  return out;
}

std::map<ValueId, Moments> run_part(const ProgramPart& part, std::vector<Tensor> weights,
                                    const std::vector<LinearGroup>& groups, HiddenRows& hidden,
                                    const std::shared_ptr<ThreadPool>& pool,
                                    const std::function<void(double)>& on_progress) {
  std::map<ValueId, Moments> moments;
  for (const LinearGroup& group : groups) {
    const auto& values = part.values;
    const auto found = std::find(values.begin(), values.end(), group.input) - values.begin();
    Moments made;
    made.width = part.program->values[static_cast<std::size_t>(found)].width;
    made.gram = Buffer(static_cast<std::uint64_t>(made.width * made.width) * sizeof(float),
                       MemoryAccount::scratch());
    std::memset(made.gram.data(), 0, made.gram.size());
    moments.emplace(group.input, std::move(made));
  }
  const std::int64_t width = part.program->hidden;
  std::int64_t total = 0;
  for (const auto& rows : hidden.windows) total += static_cast<std::int64_t>(rows.size()) / width;
  const ReferenceLane lane(part.program, std::move(weights), pool);
  RunOptions options;
  options.on_value = [&](const Step& step, std::span<const float> rows, std::int64_t columns) {
    const auto found = moments.find(part.values[static_cast<std::size_t>(step.output)]);
    if (found == moments.end()) return;
    const auto count = static_cast<std::int64_t>(rows.size()) / columns;
    add_gram({rows.data(), count, columns, columns}, 1.0f / static_cast<float>(total),
             found->second.at(0), columns, *pool);
  };
  std::size_t done = 0;
  for (std::vector<float>& rows : hidden.windows) {
    on_progress(static_cast<double>(done++) / static_cast<double>(hidden.windows.size()));
    KvCache cache = lane.make_cache();
    const WindowBatch window(rows, static_cast<std::int64_t>(rows.size()) / width, cache);
    std::vector<float> next = lane.run(window.batch, options);
    rows = std::move(next);
  }
  return moments;
}

}  // namespace linnet
