// Writes a model as the native lane holds it, into a folder that any command takes as its model.
#pragma once

#include <filesystem>
#include <functional>

#include "formats/convert.h"
#include "model/model.h"

namespace linnet {

// `model` was loaded from `source` in the native lane (a bug otherwise). The folder gets
// kPackedFile beside config, tokenizer and template, and appears whole or not at all; what
// `on_progress` throws ends the writing. Errors: those of checked_target; io.
ConvertReport pack_model(const Model& model, const ModelFiles& source,
                         const std::filesystem::path& target, bool overwrite,
                         const std::function<void(double)>& on_progress = {});

}  // namespace linnet
