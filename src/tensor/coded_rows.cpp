#include "tensor/coded_rows.h"

#include <cmath>
#include <utility>

#include "base/error.h"

namespace linnet {
namespace {

// Shape and sizes that both formats share.
class OwnRows : public CodedRows {
 public:
  OwnRows(Tensor codes, std::int64_t codes_per_byte, Tensor scales)
      : codes_(std::move(codes)), scales_(std::move(scales)) {
    shape_ = {codes_.dim(0), codes_.dim(1) * codes_per_byte};
    LINNET_CHECK(scales_.elements() == shape_[0]);
  }
  const Shape& shape() const override { return shape_; }
  bool may_be_non_finite(std::int64_t row) const override { return !std::isfinite(scale(row)); }

 protected:
  virtual float scale(std::int64_t row) const = 0;
  std::size_t width() const { return static_cast<std::size_t>(shape_[1]); }

  Shape shape_;
  Tensor codes_, scales_;
};

class I8Rows final : public OwnRows {
 public:
  I8Rows(Tensor codes, Tensor scales) : OwnRows(std::move(codes), 1, std::move(scales)) {}

  std::string_view format() const override { return "i8"; }
  std::uint64_t bytes() const override { return codes_.bytes().size() + scales_.bytes().size(); }
  void decode_row(std::int64_t row, float* out) const override {
    const float by = scale(row);
    const std::int8_t* codes = row_codes(row);
    for (std::size_t i = 0; i < width(); ++i) out[i] = by * static_cast<float>(codes[i]);
  }
  bool read_i8(std::int64_t row, I8Row& out) const override {
    out.scale = scale(row);
    out.codes.assign(row_codes(row), row_codes(row) + width());
    return true;
  }

 private:
  float scale(std::int64_t row) const override {
    return scales_.values<float>()[static_cast<std::size_t>(row)];
  }
  const std::int8_t* row_codes(std::int64_t row) const {
    return codes_.values<std::int8_t>().data() + row * shape_[1];
  }
};

class N4Rows final : public OwnRows {
 public:
  N4Rows(Tensor codes, Tensor groups, Tensor scales)
      : OwnRows(std::move(codes), 2, std::move(scales)), groups_(std::move(groups)) {
    LINNET_CHECK(groups_.dim(1) == (shape_[1] + kN4Group - 1) / kN4Group);
  }

  std::string_view format() const override { return "n4"; }
  std::uint64_t bytes() const override {
    return codes_.bytes().size() + groups_.bytes().size() + scales_.bytes().size();
  }
  void decode_row(std::int64_t row, float* out) const override {
    const float by = scale(row);
    const std::uint8_t* codes = row_codes(row);
    const std::int8_t* groups = row_groups(row);
    for (std::size_t i = 0; i < width(); i += 2) {
      const std::int8_t c = groups[i / static_cast<std::size_t>(kN4Group)];
      out[i] = by * static_cast<float>(n4_byte(codes[i / 2] & 15, c));
      out[i + 1] = by * static_cast<float>(n4_byte(codes[i / 2] >> 4, c));
    }
  }
  bool read_n4(std::int64_t row, N4Row& out) const override {
    out.scale = scale(row);
    out.groups.assign(row_groups(row), row_groups(row) + groups_.dim(1));
    out.codes.resize(width());
    const std::uint8_t* codes = row_codes(row);
    for (std::size_t i = 0; i < width(); i += 2) {
      out.codes[i] = codes[i / 2] & 15;
      out.codes[i + 1] = codes[i / 2] >> 4;
    }
    return true;
  }

 private:
  float scale(std::int64_t row) const override {
    return f16_to_f32(scales_.values<std::uint16_t>()[static_cast<std::size_t>(row)]);
  }
  const std::uint8_t* row_codes(std::int64_t row) const {
    return codes_.values<std::uint8_t>().data() + row * codes_.dim(1);
  }
  const std::int8_t* row_groups(std::int64_t row) const {
    return groups_.values<std::int8_t>().data() + row * groups_.dim(1);
  }

  Tensor groups_;
};

}  // namespace

std::shared_ptr<const CodedRows> i8_rows(Tensor codes, Tensor scales) {
  return std::make_shared<I8Rows>(std::move(codes), std::move(scales));
}

std::shared_ptr<const CodedRows> n4_rows(Tensor codes, Tensor groups, Tensor scales) {
  return std::make_shared<N4Rows>(std::move(codes), std::move(groups), std::move(scales));
}

}  // namespace linnet
