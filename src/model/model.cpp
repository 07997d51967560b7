#include "model/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory_account.h"
#include "model/build_program.h"
#include "model/rope.h"
#include "model/weights.h"

namespace linnet {

namespace {

std::int64_t chosen_context(const ModelConfig& config, std::int64_t wanted) {
  const std::int64_t most = config.context();
  if (wanted < 0 || wanted > most) {
    fail(ErrorCode::invalid_argument,
         fmt::format("a context of {} positions: the model has {}", wanted, most));
  }
  return wanted == 0 ? most : wanted;
}

}  // namespace

std::shared_ptr<const Model> Model::load(const ModelFiles& files, const LoadOptions& options) try {
  std::shared_ptr<Model> model(new Model());
  ModelConfig& config = model->config_;
  config = ModelConfig::from_json(files.config, files.config_file, options.task_head);
  if (options.yarn > 0) stretch_context(config, options.yarn);
  if (!options.labels.empty() && !config.labels.empty()) config.labels = options.labels;
  model->context_ = chosen_context(config, options.context);
  auto program = std::make_shared<const Program>(build_program(config));
  auto pool = std::make_shared<ThreadPool>(options.threads);
  if (!files.packed.empty() && options.open_packed) {
    const auto start = Clock::now();
    model->report_.file_bytes = std::filesystem::file_size(files.packed);
    model->lane_ = options.open_packed(program, files, pool, model->context_);
    model->report_.seconds = seconds_since(start);
    memory_stats();  // for whoever listens
    return model;
  }
  LoadOptions weight_options = options;
  if (options.make_lane) weight_options.decode_limit = 0;
  LoadedWeights weights = load_weights(files, config, *program, *pool, weight_options);
  model->report_ = std::move(weights.report);
  if (options.make_lane) {
    model->lane_ = options.make_lane(program, weights.tensors, pool);
  } else {
    model->lane_ = std::make_unique<ReferenceLane>(std::move(program), std::move(weights.tensors),
                                                   std::move(pool));
  }
  memory_stats();  // for whoever listens
  return model;
} catch (const std::bad_alloc&) {
  fail(ErrorCode::out_of_memory, "no memory to load " + files.path.string());
}

std::vector<float> Model::run(const Batch& batch, const RunOptions& options) const {
  std::vector<float> output = lane_->run(batch, options);
  if (!report_.non_finite.empty() &&
      !std::all_of(output.begin(), output.end(), [](float x) { return std::isfinite(x); })) {
    for (const SequenceRows& sequence : batch.sequences) {
      sequence.cache->truncate(sequence.cache->length() - sequence.rows);
    }
    fail(ErrorCode::corrupt_file,
         "the output is not finite, because of the weights: " + report_.non_finite[0]);
  }
  return output;
}

}  // namespace linnet
