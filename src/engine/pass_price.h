// What one pass of the model costs, in seconds, by its number of rows: learned from the passes
// themselves, so that whoever adds rows to a pass (drafts, chunks of a prompt) knows what they
// cost on this machine in its present state.
//
// The curve has knots at 1, 2, 3, 4, 6, 8, 12, ... 1024 rows and is linear between them. A knot is
// the lower median of its last few passes: a pass that lost its processor does not move it, and a
// lasting change does after half as many passes. A knot that was never measured has the lowest
// price that its neighbours allow: more rows never cost less, and never less per row than still
// more rows do. That is hopeful, so it will be tried, and then known. A knot of few rows that no
// pass came near for long sinks to that price too, lest a wrong one keep all passes away for good;
// the next pass of its size brings it back.
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
  // Before any record it is that of a typical machine: flat for a few rows, then proportional. No
  // rows cost as much as one; above 1024 rows the price is proportional.
  double seconds(std::int64_t rows) const { return along(curve_, rows); }
  // The highest price that fits what was measured, for those who must not pay more: rows never cost
  // more in proportion than fewer rows do. The same as seconds() at sizes measured lately.
  double seconds_at_most(std::int64_t rows) const { return along(highest_, rows); }
  // The most rows whose price is at most the limit; 0 when one row costs more.
  std::int64_t most_rows(double seconds_limit) const;

 private:
  static constexpr std::size_t kKnots = 20;
  static constexpr std::size_t kSamples = 8;

  struct Knot {
    std::array<double, kSamples> samples{};  // the last passes, a ring
    std::int64_t count = 0;                  // of all passes
    std::int64_t last = 0;                   // number of the last pass
    double median = 0;                       // the lower one of the samples
    double price = 0;                        // the median, or what it sank to
  };

  using Curve = std::array<double, kKnots>;

  static double along(const Curve& curve, std::int64_t rows);
  bool is_stale(std::size_t index) const;
  double hopeful(std::size_t index) const;
  void rebuild();

  std::array<Knot, kKnots> knots_;
  Curve curve_{}, highest_{};
  std::int64_t passes_ = 0;
};

}  // namespace linnet
