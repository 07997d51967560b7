// Greedy and sampled answers: one sequence each, which share what was computed of the prompt.
#pragma once

#include <memory>
#include <vector>

#include "engine/growing_answer.h"
#include "engine/request_run.h"

namespace linnet {

class AnswersRun final : public RequestRun {
 public:
  AnswersRun(Request request, std::int64_t number, std::shared_ptr<Ticket> ticket,
             const RunParts& parts);

  std::int64_t most_blocks() const override;
  std::int64_t most_sequences() const override { return request().answers; }
  void begin(Scheduler& scheduler) override;

 protected:
  void advance(Sequence& sequence, std::int64_t drafts, std::span<const float> logits,
               std::span<const float> hidden) override;
  bool publish(Scheduler& scheduler) override;
  void end_all(Scheduler& scheduler, FinishReason reason) override;
  void remove_all(Scheduler& scheduler) override;
  std::vector<GenerationResult> results() override;

 private:
  struct Branch {
    std::unique_ptr<GrowingAnswer> answer;
    std::shared_ptr<Sequence> sequence;  // null: not begun, or ended
    std::unique_ptr<Speculation::Guesser> guesser;
  };
  void fork(Scheduler& scheduler, std::size_t index);
  void guess(Branch& branch);
  void tell(Branch& branch);
  void append_new_ids(const Branch& branch, Sequence& sequence) const;

  std::vector<Branch> branches_;
};

}  // namespace linnet
