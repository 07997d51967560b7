// Writes a model with rounded weights: layer by layer, calibrated on a text, with the weights of
// one layer in memory. A run that was interrupted goes on where it stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/convert.h"
#include "formats/model_files.h"
#include "quantize/round_rows.h"

namespace linnet {

struct QuantizeOptions {
  RowFormat weights = RowFormat::n4;  // of all matrices but the head and the embedding
  RowFormat head = RowFormat::s6;     // of those two
  // The text that the levers below are set by; may be empty when all of them are off.
  std::vector<std::int32_t> calibration;
  std::int64_t window = 384;  // tokens that are read together
  bool smoothing = true;      // see smoothing.h
  bool importance = true;     // see round_rows.h, not for the head and the embedding
  bool feedback = true;       // the same
  // The rounded values are written as f32, to measure them in any lane.
  bool decoded = false;
  // The matrices are dithered first (see dither.h): for a baseline to measure formats on.
  std::optional<std::uint64_t> dither;

  int threads = 0;  // 0: all cores
  bool overwrite = false;
  std::uint64_t shard_bytes = kDefaultShardBytes;
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(double)> on_progress;  // 0 to 1

  bool calibrates() const { return smoothing || importance || feedback; }
};

struct QuantizeReport {
  ConvertReport written;
  std::int32_t resumed_stages = 0;            // that an earlier run had finished
  std::vector<std::string> without_feedback;  // matrices whose inputs the text left zero
};

// Errors: those of load_weights and convert_model; invalid_argument for calibration ids outside of
// the vocabulary, or none; unsupported for a width that the format cannot have; cancelled, with
// what was done so far kept in TARGET.parts for the next run.
QuantizeReport quantize_model(const ModelFiles& source, const std::filesystem::path& target,
                              const QuantizeOptions& options);

}  // namespace linnet
