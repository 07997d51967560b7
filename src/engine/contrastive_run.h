// Contrastive search: each step computes the likeliest candidates, one sequence each, and goes on
// with the one whose hidden vector is least like those before it.
#pragma once

#include <memory>
#include <vector>

#include "engine/contrastive.h"
#include "engine/growing_answer.h"
#include "engine/request_run.h"

namespace linnet {

class ContrastiveRun final : public RequestRun {
 public:
  ContrastiveRun(Request request, std::int64_t number, std::shared_ptr<Ticket> ticket,
                 const RunParts& parts);

  std::int64_t most_blocks() const override;
  std::int64_t most_sequences() const override { return request().contrastive->top_k + 1; }
  void begin(Scheduler& scheduler) override;

 protected:
  void take_hidden(std::int64_t first, std::span<const float> hidden) override;
  void advance(Sequence& sequence, std::int64_t drafts, std::span<const float> logits,
               std::span<const float> hidden) override;
  bool publish(Scheduler& scheduler) override;
  void end_all(Scheduler& scheduler, FinishReason reason) override;
  void remove_all(Scheduler& scheduler) override;
  std::vector<GenerationResult> results() override;

 private:
  void propose(Scheduler& scheduler, Sequence& parent, std::span<const float> logits);

  ContrastiveSearch search_;
  ProcessorChain processors_;
  GrowingAnswer answer_;
  std::size_t width_, vocab_;
  std::int64_t seen_ = 0;  // positions of the prompt whose vectors are in the context
  std::vector<std::shared_ptr<Sequence>> candidates_;  // at first the prompt itself
  std::vector<float> logits_, hidden_;                 // [candidates, vocab] and [.., hidden]
  std::int64_t generation_ = 0;
};

}  // namespace linnet
