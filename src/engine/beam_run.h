// Beam search: as many sequences as beams, which go on together.
#pragma once

#include <memory>
#include <vector>

#include "engine/beam_search.h"
#include "engine/processors.h"
#include "engine/request_run.h"

namespace linnet {

class BeamRun final : public RequestRun {
 public:
  BeamRun(Request request, std::int64_t number, std::shared_ptr<Ticket> ticket,
          const RunParts& parts);

  std::int64_t most_blocks() const override;
  std::int64_t most_sequences() const override { return request().beams->beams; }
  void begin(Scheduler& scheduler) override;

 protected:
  void advance(Sequence& sequence, std::int64_t drafts, std::span<const float> logits,
               std::span<const float> hidden) override;
  bool publish(Scheduler& scheduler) override;
  void end_all(Scheduler& scheduler, FinishReason reason) override;
  void remove_all(Scheduler& scheduler) override;
  std::vector<GenerationResult> results() override;

 private:
  struct Row {
    std::shared_ptr<Sequence> sequence;
    ProcessorChain processors;
  };
  bool ends(const Beam& candidate) const;
  void go_on(Scheduler& scheduler, std::span<const Beam> beams);

  BeamOptions options_;
  BeamSearch search_;
  std::vector<Row> rows_;
  std::vector<float> scores_;    // [rows, vocab]
  std::int64_t generation_ = 0;  // numbers sequences: later ones come after
  std::int64_t prompt_ = 0;
  std::optional<FinishReason> ended_early_;
};

}  // namespace linnet
