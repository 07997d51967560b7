#include "engine/generation_result.h"

namespace linnet {

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::cancelled:
      return "cancelled";
    case FinishReason::deadline:
      return "deadline";
  }
  return "unknown";
}

double GenerationResult::prefill_rate() const {
  const auto computed = static_cast<double>(prompt_tokens - cached_tokens);
  return prefill_seconds > 0 ? computed / prefill_seconds : 0;
}

double GenerationResult::decode_rate() const {
  // The first token comes from the prompt's logits.
  if (ids.size() < 2 || decode_seconds <= 0) return 0;
  return static_cast<double>(ids.size() - 1) / decode_seconds;
}

}  // namespace linnet
