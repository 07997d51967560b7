#include "cli/head_warning.h"

#include "base/log.h"
#include "formats/tied_head.h"

namespace linnet {

void warn_of_own_head(const ModelFiles& files, const ModelConfig& config) {
  if (!config.tied_head || config.task_head != TaskHead::causal_lm) return;
  if (find_own_head(files) != OwnHead::different) return;
  log_warn(files.describe("lm_head.weight") +
           " differs from the embedding, which is used in its place; if the model was trained with "
           "it, set tie_word_embeddings to false in " +
           files.config_file);
}

}  // namespace linnet
