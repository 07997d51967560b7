// What a quantization has done so far, in a folder beside its result: one file of tensors for each
// finished stage, and the hidden states that the next one starts from. A run that was killed goes
// on from there; one with other settings begins anew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "formats/weights.h"
#include "quantize/calibration.h"

namespace linnet {

class QuantizeState {
 public:
  // `settings` is everything that the result depends on. The folder is made when a stage is
  // finished. Error{not_found} without the parent folder.
  QuantizeState(std::filesystem::path folder, Json settings);

  std::int32_t finished() const { return finished_; }  // stages
  // Of the next stage; nothing before the first.
  HiddenRows load_hidden(std::int64_t width, std::int64_t window) const;
  // Keeps the stage's tensors, and the hidden states for the next one.
  void finish_stage(const std::vector<std::pair<std::string, Tensor>>& tensors,
                    const HiddenRows& hidden, std::int64_t width);
  // All tensors of all stages.
  std::shared_ptr<const Weights> open_weights() const;
  void remove();

 private:
  std::filesystem::path path_of(const char* kind, std::int32_t stage) const;
  void begin() const;
  void write_progress() const;

  std::filesystem::path folder_;
  Json settings_;
  std::int32_t finished_ = 0;
};

}  // namespace linnet
