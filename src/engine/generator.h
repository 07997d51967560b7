// Generates for one caller at a time, on the caller's own thread: an engine with one request. What
// was computed is kept between calls: a prompt that starts as an earlier sequence did (the next
// turn of a chat) is computed only from where it differs, with the same bits as without.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include "engine/batch_engine.h"

namespace linnet {

struct GenerateOptions {
  // See Request, for all of them.
  std::function<void(const TokenEvent&)> on_token;
  std::function<void(std::int64_t, std::int64_t)> on_prefill;
  const std::atomic<bool>* cancel = nullptr;
  bool keep_special = false;
  std::int64_t prefill_rows = 0;  // Request::prompt_rows
};

class Generator {
 public:
  // Without a tokenizer (null) ids come, but no text, and stop strings are refused.
  Generator(std::shared_ptr<const Model> model, std::shared_ptr<const Tokenizer> tokenizer)
      : engine_(std::make_unique<BatchEngine>(std::move(model), std::move(tokenizer))) {}

  // Errors: invalid_argument for an empty prompt, ids outside of the vocabulary, a prompt that does
  // not leave room in the context (both numbers named); what a callback throws. After an error the
  // generator can be used on.
  GenerationResult generate(std::span<const TokenId> prompt, const GenerationConfig& config,
                            const GenerateOptions& options = {});
  // A request of any kind.
  RequestResult run(Request request);

  const Model& model() const { return engine_->model(); }
  const Tokenizer& tokenizer() const { return *engine_->tokenizer(); }
  std::int64_t context_tokens() const { return context_tokens_; }  // of the last call
  void clear();                                                    // forgets everything

 private:
  std::unique_ptr<BatchEngine> engine_;
  std::int64_t context_tokens_ = 0;
};

}  // namespace linnet
