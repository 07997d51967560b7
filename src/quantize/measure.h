// How well a model predicts a text, and how far its predictions are from those of another precision
// of the same model.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/model.h"

namespace linnet {

// A mean over tokens, with its standard error as if they were independent.
struct Mean {
  double value = 0;
  double error = 0;
};

// Of next-token distributions at temperature 1, reference p against model q.
struct Divergence {
  Mean reference_loss;        // as Measurement::loss
  Mean kl;                    // sum of p (log p - log q), in nats
  double kl_p99 = 0;          // the 99th percentile over positions
  double top1_agreement = 0;  // share of positions with the same most likely token
  // Relative RMS error of the residual stream: of the embedding, then after each layer.
  std::vector<double> layer_errors;  // [layers + 1], or empty
};

struct Measurement {
  std::int64_t predictions = 0;  // tokens that had one before them in their window
  Mean loss;                     // -log q(token), in nats; perplexity is e^loss
  std::optional<Divergence> divergence;
};

struct MeasureOptions {
  std::int64_t window = 384;  // tokens that are read together; every window begins anew
  bool layers = false;        // also layer_errors
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(double)> on_progress;  // 0 to 1
};

// Runs the text through `model`, and through `reference` where that is given. Logits are made for
// few rows at once. Errors: invalid_argument for fewer than two tokens, ids outside of the
// vocabulary, a window beyond the context, and for models of different vocabularies; cancelled.
Measurement measure(const Model& model, const Model* reference, std::span<const std::int32_t> ids,
                    const MeasureOptions& options = {});

}  // namespace linnet
