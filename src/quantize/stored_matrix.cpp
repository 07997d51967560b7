#include "quantize/stored_matrix.h"

#include <fmt/core.h>

#include "base/error.h"

namespace linnet {

StoredMatrix::StoredMatrix(std::string name, RowFormat format, bool decoded)
    : name_(std::move(name)), format_(format), decoded_(decoded || format == RowFormat::f32) {
  LINNET_CHECK(decoded_ || format_ != RowFormat::affine4, name_);
}

void StoredMatrix::add(const FloatWeight& rows, const Rounding& rounding, ThreadPool& pool) {
  width_ = rows.width();
  const std::int64_t step = format_ == RowFormat::n4 ? 2 : format_ == RowFormat::s6 ? 4 : 1;
  if (!decoded_ && width_ % step != 0) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: rows of {} need a width that is a multiple of {}, this one has {}; take "
                     "i8",
                     name_, row_format_name(format_), step, width_));
  }
  if (format_ == RowFormat::f32) {
    values_.insert(values_.end(), rows.values.begin(), rows.values.end());
    return;
  }
  RoundRowsJob job;
  job.format = format_;
  job.weights = rows.values.data();
  job.rows = rows.rows();
  job.width = width_;
  job.importance = rounding.importance;
  job.factor = rounding.factor;
  for (RoundedRow& row : round_rows(job, pool)) {
    if (decoded_) {
      const std::size_t size = values_.size();
      values_.resize(size + static_cast<std::size_t>(width_));
      decode_row(format_, row, &values_[size]);
    } else if (format_ == RowFormat::n4) {
      n4_.push_back(std::move(row.n4));
    } else if (format_ == RowFormat::s6) {
      s6_.push_back(std::move(row.s6));
    } else {
      i8_.push_back(std::move(row.i8));
    }
  }
}

void StoredMatrix::append_to(NamedTensors& out) const {
  if (decoded_) {
    const auto rows = static_cast<std::int64_t>(values_.size()) / width_;
    out.emplace_back(name_, Tensor::from_values({rows, width_}, values_));
    return;
  }
  NamedTensors made = format_ == RowFormat::n4   ? stored_tensors(name_, n4_)
                      : format_ == RowFormat::s6 ? stored_tensors(name_, s6_)
                                                 : stored_tensors(name_, i8_);
  for (auto& tensor : made) out.push_back(std::move(tensor));
}

}  // namespace linnet
