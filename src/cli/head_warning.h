// An output matrix that the config says nothing of.
#pragma once

#include "formats/model_files.h"
#include "model/config.h"

namespace linnet {

// Warns when the files of a tied model hold an output matrix that is not the embedding: one of them
// is wrong, and the config's word is followed.
void warn_of_own_head(const ModelFiles& files, const ModelConfig& config);

}  // namespace linnet
