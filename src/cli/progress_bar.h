// A progress bar on standard error, drawn only on a terminal and only for work that takes longer
// than half a second; erased when the work is done.
#pragma once

#include <string>
#include <utility>

#include "base/clock.h"
#include "cli/terminal.h"

namespace linnet {

// "Loading tiny  [#####     ]  50 %" in at most `width` columns; without the bar, then without the
// label's end, where it is too narrow. `utf8` draws finer blocks.
std::string progress_text(const std::string& label, double fraction, int width, bool utf8);

class ProgressBar {
 public:
  enum class Eta { hidden, shown };  // the time that is left, behind the label
  ProgressBar(std::string label, const Terminal& terminal, Eta eta = Eta::hidden);
  ~ProgressBar() { erase(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void set_label(std::string label) { label_ = std::move(label); }
  void update(double fraction);  // 0 to 1
  void erase();

 private:
  std::string label_with_eta(double fraction) const;

  std::string label_;
  Terminal terminal_;
  Eta eta_;
  double first_ = -1;  // fraction of the first update: work that goes on from an earlier run
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_ = start_;
  std::string shown_;
};

}  // namespace linnet
