#include "tensor/coded_rows.h"

#include <cmath>
#include <utility>

#include "base/error.h"

namespace linnet {
namespace {

// Shape and sizes that all formats share.
class OwnRows : public CodedRows {
 public:
  OwnRows(Tensor codes, std::int64_t inputs, Tensor scales)
      : shape_{codes.dim(0), inputs}, codes_(std::move(codes)), scales_(std::move(scales)) {
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
  I8Rows(Tensor codes, Tensor scales) : OwnRows(codes, codes.dim(1), std::move(scales)) {}

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

// Codes of less than a byte, a byte for every group, an f16 for every row.
class GroupRows : public OwnRows {
 public:
  GroupRows(Tensor codes, std::int64_t inputs, std::int64_t group, Tensor groups, Tensor scales)
      : OwnRows(std::move(codes), inputs, std::move(scales)), groups_(std::move(groups)) {
    LINNET_CHECK(groups_.dim(1) == (inputs + group - 1) / group);
  }
  std::uint64_t bytes() const override {
    return codes_.bytes().size() + groups_.bytes().size() + scales_.bytes().size();
  }

 protected:
  float scale(std::int64_t row) const override {
    return f16_to_f32(scales_.values<std::uint16_t>()[static_cast<std::size_t>(row)]);
  }
  const std::uint8_t* row_codes(std::int64_t row) const {
    return codes_.values<std::uint8_t>().data() + row * codes_.dim(1);
  }
  // Scale and groups of the row into one of N4 or S6, whose codes get their size.
  template <class Row>
  void read_scales(std::int64_t row, Row& out) const {
    const std::int8_t* groups = groups_.values<std::int8_t>().data() + row * groups_.dim(1);
    out.scale = scale(row);
    out.groups.assign(groups, groups + groups_.dim(1));
    out.codes.resize(width());
  }

 private:
  Tensor groups_;
};

class N4Rows final : public GroupRows {
 public:
  N4Rows(Tensor codes, Tensor groups, Tensor scales)
      : GroupRows(codes, 2 * codes.dim(1), kN4Group, std::move(groups), std::move(scales)) {}

  std::string_view format() const override { return "n4"; }
  void decode_row(std::int64_t row, float* out) const override {
    N4Row codes;
    read_n4(row, codes);
    decode_n4(codes, out);
  }
  bool read_n4(std::int64_t row, N4Row& out) const override {
    read_scales(row, out);
    const std::uint8_t* codes = row_codes(row);
    for (std::size_t i = 0; i < width(); i += 2) {
      out.codes[i] = codes[i / 2] & 15;
      out.codes[i + 1] = codes[i / 2] >> 4;
    }
    return true;
  }
};

class S6Rows final : public GroupRows {
 public:
  S6Rows(Tensor codes, Tensor groups, Tensor scales)
      : GroupRows(codes, codes.dim(1) / 3 * 4, kS6Group, std::move(groups), std::move(scales)) {}

  std::string_view format() const override { return "s6"; }
  void decode_row(std::int64_t row, float* out) const override {
    S6Row codes;
    read_s6(row, codes);
    decode_s6(codes, out);
  }
  bool read_s6(std::int64_t row, S6Row& out) const override {
    read_scales(row, out);
    const std::uint8_t* bytes = row_codes(row);
    for (std::size_t i = 0; i < width(); i += 4, bytes += 3) {
      const int four = bytes[0] | bytes[1] << 8 | bytes[2] << 16;
      for (std::size_t j = 0; j < 4; ++j) {
        out.codes[i + j] = static_cast<std::int8_t>((four >> (6 * j) & 63) - 32);
      }
    }
    return true;
  }
};

}  // namespace

std::shared_ptr<const CodedRows> i8_rows(Tensor codes, Tensor scales) {
  return std::make_shared<I8Rows>(std::move(codes), std::move(scales));
}

std::shared_ptr<const CodedRows> n4_rows(Tensor codes, Tensor groups, Tensor scales) {
  return std::make_shared<N4Rows>(std::move(codes), std::move(groups), std::move(scales));
}

std::shared_ptr<const CodedRows> s6_rows(Tensor codes, Tensor groups, Tensor scales) {
  return std::make_shared<S6Rows>(std::move(codes), std::move(groups), std::move(scales));
}

}  // namespace linnet
