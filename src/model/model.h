// A loaded model: its configuration, its program, its weights in a lane. Const and thread-safe;
// what changes from call to call (caches) belongs to the caller.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "formats/model_files.h"
#include "model/config.h"
#include "program/reference_lane.h"

namespace linnet {

// What a load found beside the tensors that it took.
struct LoadReport {
  std::vector<std::string> unexpected;   // in the file, not in the model (not an error)
  std::vector<std::string> initialized;  // of the task head, absent from the file and made new
  std::vector<std::string> non_finite;   // tensors that hold NaN or infinities, with the first one
  std::uint64_t file_bytes = 0;          // of the tensors taken
  std::uint64_t memory_bytes = 0;        // of those that had to be decoded; mapped ones cost none
  double seconds = 0;
};

struct LoadOptions {
  int threads = 0;  // 0: all cores
  // Block formats are decoded to f32 once when all of them together stay below this many bytes;
  // above, row by row when used (slower, the same bits).
  std::uint64_t decode_limit = std::uint64_t{4} << 30;
  // Another head than the one that the checkpoint's architecture names.
  std::optional<TaskHead> task_head;
  // The classes of a classifier in place of the config's.
  std::vector<std::string> labels;
  // Tensors of the task head that the files lack are made: weights normal with the config's
  // initializer_range, biases zero, the same for the same seed. Else they are an error.
  bool initialize_missing_head = false;
  std::uint64_t seed = 0;
  // Weights that hold NaN or infinities are refused; true: only reported, and it is an error when a
  // run's output is not finite.
  bool allow_non_finite = false;
  // Makes the lane that runs the model; without it the reference lane does. The weights then stay
  // as they are in the files, for the lane to pack.
  std::function<std::unique_ptr<Lane>(std::shared_ptr<const Program>, const std::vector<Tensor>&,
                                      std::shared_ptr<ThreadPool>)>
      make_lane;
  // Makes a lane from packed weights (ModelFiles::packed) for sequences of so many positions;
  // without it such a model is refused. May refuse what before_weights would.
  std::function<std::unique_ptr<Lane>(std::shared_ptr<const Program>, const ModelFiles&,
                                      std::shared_ptr<ThreadPool>, std::int64_t)>
      open_packed;
  // The most positions a sequence may have (Model::context); 0: all that the model has.
  std::int64_t context = 0;
  // Above 0: as many times the positions, see stretch_context().
  double yarn = 0;
  // Called when the tensors were found, and nothing large was read yet: may refuse.
  std::function<void(const ModelConfig&, const Program&, const std::vector<Tensor>&)>
      before_weights;
  // Called with values from 0 to 1, on the loading thread.
  std::function<void(double)> on_progress;
};

class Model {
 public:
  // Errors: those of ModelConfig::from_json; invalid_argument for a context that the model does not
  // have; out_of_memory; corrupt_file with all missing and wrongly shaped
  // tensors by name, or all that hold NaN or infinities; unsupported for an architecture or option
  // that Linnet does not run.
  static std::shared_ptr<const Model> load(const ModelFiles& files,
                                           const LoadOptions& options = {});

  const ModelConfig& config() const { return config_; }
  // Positions that a sequence may have.
  std::int64_t context() const { return context_; }
  const LoadReport& report() const { return report_; }
  const Program& program() const { return lane_->program(); }
  ThreadPool& pool() const { return lane_->pool(); }
  const Lane& lane() const { return *lane_; }

  KvCache make_cache() const { return lane_->make_cache(); }
  // See Lane::run; what the output rows are, TaskHead tells. For padded rectangles,
  // pooling and hidden states see model/forward.h.
  std::vector<float> run(const Batch& batch, const RunOptions& options = {}) const;

 private:
  Model() = default;
  ModelConfig config_;
  std::int64_t context_ = 0;
  LoadReport report_;
  std::unique_ptr<Lane> lane_;
};

}  // namespace linnet
