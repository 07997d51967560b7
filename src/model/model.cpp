#include "model/model.h"

#include "model/build_program.h"
#include "model/weights.h"

namespace linnet {

std::shared_ptr<const Model> Model::load(const ModelFiles& files, const LoadOptions& options) {
  std::shared_ptr<Model> model(new Model());
  model->config_ = ModelConfig::from_json(files.config, files.config_file);
  auto program = std::make_shared<const Program>(build_program(model->config_));
  auto pool = std::make_shared<ThreadPool>(options.threads);
  LoadedWeights weights = load_weights(files, *program, *pool, options);
  model->report_ = std::move(weights.report);
  model->lane_ = std::make_unique<ReferenceLane>(std::move(program), std::move(weights.tensors),
                                                 std::move(pool));
  return model;
}

}  // namespace linnet
