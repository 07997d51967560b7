// What one pass of the model costs, in seconds, by its number of rows: learned from the passes
// themselves, so that whoever adds rows to a pass (drafts, chunks of a prompt) knows what they
// cost on this machine in its present state.
//
// The curve has a knot for each number of rows up to 64 and fewer above, and is linear between
// them. A knot is the lower median of its last few passes: a pass that lost its processor does not
// move it, and a lasting change does after half as many passes. Sizes that were never measured lie
// on the line between their measured neighbours, and beyond the last of those on its continuation.
// A knot that no pass came near for long sinks to that line, lest a wrong price keep all passes
// away for good; the next pass of its size brings it back. The curve never falls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace linnet {

class PassPrice {
 public:
  PassPrice() { rebuild(); }

  // Not of passes without rows; seconds that are not above 0, or not finite, are left out.
  void record(std::int64_t rows, double seconds);
  // Before any record that of a typical machine. No rows cost as much as one; above 1024 rows the
  // price is proportional.
  double seconds(std::int64_t rows) const;
  // Whether there were passes of about this size lately, and enough for one lost one not to matter.
  bool is_known(std::int64_t rows) const;
  // The most rows whose price is at most the limit; 0 when one row costs more.
  std::int64_t most_rows(double seconds_limit) const;

 private:
  static constexpr std::size_t kKnots = 73;
  static constexpr std::size_t kSamples = 8;

  struct Knot {
    std::array<double, kSamples> samples{};  // the last passes, a ring
    std::int64_t count = 0;                  // of all passes
    std::int64_t last = 0;                   // number of the last pass
    double price = 0;                        // lower median of the samples, or what it sank to
  };

  bool is_stale(std::size_t index) const;
  double line(std::size_t index) const;
  double beyond(std::size_t last, double rows) const;
  void rebuild();

  std::array<Knot, kKnots> knots_;
  std::array<double, kKnots> curve_{};
  std::int64_t passes_ = 0;
};

}  // namespace linnet
