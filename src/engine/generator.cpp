#include "engine/generator.h"

#include <fmt/core.h>

#include <new>
#include <utility>

#include "base/error.h"

namespace linnet {

RequestResult Generator::run(Request request) try {
  context_tokens_ = static_cast<std::int64_t>(request.prompt.size());
  const auto ticket = engine_->submit(std::move(request));
  while (!ticket->has_ended()) engine_->step();
  RequestResult result = ticket->get();
  context_tokens_ += static_cast<std::int64_t>(result.answers.front().ids.size());
  return result;
} catch (const std::bad_alloc&) {
  fail(ErrorCode::out_of_memory, "no memory for one more request");
}

GenerationResult Generator::generate(std::span<const TokenId> prompt,
                                     const GenerationConfig& config,
                                     const GenerateOptions& options) try {
  Request request;
  request.prompt.assign(prompt.begin(), prompt.end());
  request.config = config;
  request.on_token = options.on_token;
  request.on_prefill = options.on_prefill;
  request.cancel = options.cancel;
  request.keep_special = options.keep_special;
  request.prompt_rows = options.prefill_rows;
  return std::move(run(std::move(request)).answers.front());
} catch (const std::bad_alloc&) {
  fail(ErrorCode::out_of_memory,
       fmt::format("no memory to generate from {} prompt tokens", prompt.size()));
}

void Generator::clear() {
  engine_->clear_prefixes();
  context_tokens_ = 0;
}

}  // namespace linnet
