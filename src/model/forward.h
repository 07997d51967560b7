// One call of a model on a padded rectangle, with what it gives laid out as the caller's rectangle:
// logits of the head, and on request hidden states and attentions. Rows where the mask is 0 are
// never computed; they are 0 in every output.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/model.h"
#include "model/padded_batch.h"
#include "model/pooling.h"

namespace linnet {

struct ForwardRequest {
  PaddedBatch input;
  std::span<const float> head_mask;  // [layers, heads]: factors on attention after the softmax
  // To go on from and to append to, one per batch row or document; empty: none are kept. Set
  // input.past_columns to the columns of the earlier calls.
  std::span<KvCache> caches;
  // Logits of the last n columns only; absent: of all. Not for sequence classification.
  std::optional<std::int64_t> last_columns;
  PoolingRule pooling = PoolingRule::rightmost_not_pad;  // sequence classification
  bool hidden_states = false;
  bool attentions = false;
  const std::atomic<bool>* cancel = nullptr;  // see RunOptions
};

// All arrays are dense, the last axis innermost. An empty batch gives empty arrays.
struct ForwardOutputs {
  std::int64_t batch = 0;
  std::int64_t columns = 0;  // of the logits: input.length, or as many as last_columns asked for
  std::int64_t width = 0;    // of a row of logits: vocab, labels, or hidden for the bare decoder

  // [batch, columns, width]; for sequence classification [batch, width]; empty for question
  // answering. For the bare decoder these are the normed hidden states.
  std::vector<float> logits;
  std::vector<float> start_logits;           // question answering: [batch, columns]
  std::vector<float> end_logits;             // question answering: [batch, columns]
  std::vector<std::int64_t> pooled_columns;  // sequence classification: [batch], -1 for none (then
                                             // the logits are 0)

  // [layers + 2, batch, length, hidden]: the embedding's output, each layer's, the normed output.
  // This is Bumblebee's list. transformers' has layers + 1 entries: all of it but the last layer's
  // output before the norm, which is entry `layers` here.
  std::vector<float> hidden_states;
  // [layers, batch, heads, length, past_columns + length]: of each query over the keys, 0 where it
  // sees none.
  std::vector<float> attentions;
};

// Errors: those of make_ragged, pooled_columns and ReferenceLane::run; invalid_argument for ids
// outside of the vocabulary and for arrays that do not fit the model, naming both sizes.
ForwardOutputs forward(const Model& model, const ForwardRequest& request);

}  // namespace linnet
