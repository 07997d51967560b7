// What one pass of the model costs, in seconds, by its number of rows: learned from the passes
// themselves, so that whoever adds rows to a pass (drafts, chunks of a prompt) knows what they
// cost on this machine in its present state.
//
// The curve has knots at 1, 2, 3, 4, 6, 8, 12, ... 1024 rows and is linear between them. A knot is
// the lower median of its last few passes: a pass that lost its processor does not move it, and a
// lasting change does after half as many passes. A knot that no pass came near for long moves along
// with those that were measured, for what changes most is the speed of the whole machine. A knot
// never measured follows its neighbours by the shape of a typical machine. The curve never falls.
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
  // Sensible before any record: flat for a few rows, then proportional. No rows cost as much as
  // one; above 1024 rows the price is proportional.
  double seconds(std::int64_t rows) const;
  // The most rows whose price is at most the limit; 0 when one row costs more.
  std::int64_t most_rows(double seconds_limit) const;

 private:
  static constexpr std::size_t kKnots = 20;
  static constexpr std::size_t kSamples = 8;

  struct Knot {
    std::array<double, kSamples> samples{};  // the last passes, a ring
    std::int64_t count = 0;                  // of all passes
    std::int64_t last = 0;                   // number of the last pass
    double value = 0;                        // lower median of the samples
    double share = 0;                        // of recent passes, decaying
  };

  void follow(std::size_t changed, double factor);
  void rebuild();

  std::array<Knot, kKnots> knots_;
  std::array<double, kKnots> curve_{};
  std::int64_t passes_ = 0;
};

}  // namespace linnet
