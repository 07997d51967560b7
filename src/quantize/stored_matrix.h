// A matrix on its way into a file: rounded rows are collected as they come, and become the tensors
// that store them.
#pragma once

#include <string>
#include <vector>

#include "formats/coded_weights.h"
#include "quantize/float_weights.h"
#include "quantize/round_rows.h"

namespace linnet {

// What calibration found about a matrix's input; see RoundRowsJob.
struct Rounding {
  std::vector<float> importance;
  const float* factor = nullptr;
};

class StoredMatrix {
 public:
  // `decoded`: the rounded values are stored as f32; affine4 has no other form.
  StoredMatrix(std::string name, RowFormat format, bool decoded);

  void add(const FloatWeight& rows, const Rounding& rounding, ThreadPool& pool);
  void append_to(NamedTensors& out) const;

 private:
  std::string name_;
  RowFormat format_;
  bool decoded_;
  std::int64_t width_ = 0;
  std::vector<float> values_;
  std::vector<I8Row> i8_;
  std::vector<N4Row> n4_;
  std::vector<S6Row> s6_;
};

}  // namespace linnet
