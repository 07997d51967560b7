// Rows of formats that others define: affine, microscaled, NF4.
#include <utility>

#include "base/error.h"
#include "tensor/coded_rows.h"
#include "tensor/nf4.h"
#include "tensor/packed_codes.h"

namespace linnet {
namespace {

template <typename T>
std::span<const T> row_of(const Tensor& tensor, std::int64_t row) {
  const auto width = static_cast<std::size_t>(tensor.dim(1));
  return tensor.values<T>().subspan(static_cast<std::size_t>(row) * width, width);
}

std::vector<float> floats_of(const Tensor& tensor, std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(tensor.dim(1)));
  tensor.decode_row(row, values.data());
  return values;
}

constexpr std::string_view kNf4 = "nf4", kNf4Flat = "nf4-flat";

class AffineRows final : public CodedRows {
 public:
  AffineRows(const AffineFormat& format, Tensor words, Tensor scales, Tensor biases)
      : format_(format),
        words_(std::move(words)),
        scales_(std::move(scales)),
        biases_(std::move(biases)) {
    shape_ = {words_.dim(0), scales_.dim(1) * format.group};
    LINNET_CHECK(words_.dim(1) == packed_words(shape_[1], format.bits));
  }
  const Shape& shape() const override { return shape_; }
  std::string_view format() const override { return "affine"; }
  std::uint64_t bytes() const override {
    return words_.bytes().size() + scales_.bytes().size() + biases_.bytes().size();
  }
  void decode_row(std::int64_t row, float* out) const override {
    const std::vector<float> scales = floats_of(scales_, row), biases = floats_of(biases_, row);
    decode_affine(format_, {row_of<std::uint32_t>(words_, row), scales, biases},
                  {out, static_cast<std::size_t>(shape_[1])});
  }
  std::optional<GroupedFormat> grouped() const override {
    return grouped_format(format_, scale_type());
  }
  bool read_grouped(std::int64_t row, const GroupedFormat& to, GroupedRow& out) const override {
    const std::vector<float> scales = floats_of(scales_, row), biases = floats_of(biases_, row);
    linnet::read_grouped(format_, {row_of<std::uint32_t>(words_, row), scales, biases}, out);
    bring_to(*grouped(), to, out);
    return true;
  }

 private:
  GroupScale scale_type() const {
    if (scales_.dtype() != biases_.dtype()) return GroupScale::f32;
    if (scales_.dtype() == DType::f16) return GroupScale::f16;
    return scales_.dtype() == DType::bf16 ? GroupScale::bf16 : GroupScale::f32;
  }

  AffineFormat format_;
  Shape shape_;
  Tensor words_, scales_, biases_;
};

class MicroscaledRows final : public CodedRows {
 public:
  MicroscaledRows(Microscaling mode, Tensor words, Tensor scales)
      : info_(microscaling_info(mode)), words_(std::move(words)), scales_(std::move(scales)) {
    shape_ = {words_.dim(0), scales_.dim(1) * info_.group};
    LINNET_CHECK(words_.dim(1) == packed_words(shape_[1], info_.bits));
  }
  const Shape& shape() const override { return shape_; }
  std::string_view format() const override { return info_.name; }
  std::uint64_t bytes() const override { return words_.bytes().size() + scales_.bytes().size(); }
  void decode_row(std::int64_t row, float* out) const override {
    decode_microscaled(info_.mode, row_of<std::uint32_t>(words_, row),
                       row_of<std::uint8_t>(scales_, row),
                       {out, static_cast<std::size_t>(shape_[1])});
  }
  std::optional<GroupedFormat> grouped() const override { return grouped_format(info_.mode); }
  bool read_grouped(std::int64_t row, const GroupedFormat& to, GroupedRow& out) const override {
    const auto own = grouped();
    if (!own) return false;
    linnet::read_grouped(info_.mode, row_of<std::uint32_t>(words_, row),
                         row_of<std::uint8_t>(scales_, row), out);
    bring_to(*own, to, out);
    return true;
  }
  bool read_float_codes(std::int64_t row, FloatCode code, FloatCodeRow& out) const override {
    if (info_.mode != Microscaling::mxfp8 || code != FloatCode::mxfp8) return false;
    out.codes.resize(static_cast<std::size_t>(shape_[1]));
    unpack_codes(row_of<std::uint32_t>(words_, row), info_.bits, out.codes);
    out.scales.clear();
    for (const std::uint8_t scale : row_of<std::uint8_t>(scales_, row)) {
      out.scales.push_back(e8m0_to_f32(scale));
    }
    return true;
  }

 private:
  const MicroscalingInfo& info_;
  Shape shape_;
  Tensor words_, scales_;
};

class Nf4Rows final : public CodedRows {
 public:
  Nf4Rows(Shape shape, std::int64_t block, Tensor packed, std::vector<float> absmax)
      : shape_(std::move(shape)),
        block_(block),
        packed_(std::move(packed)),
        absmax_(std::move(absmax)) {
    const std::int64_t count = shape_[0] * shape_[1];
    LINNET_CHECK(packed_.elements() == (count + 1) / 2);
    LINNET_CHECK(static_cast<std::int64_t>(absmax_.size()) == (count + block - 1) / block);
  }
  const Shape& shape() const override { return shape_; }
  std::string_view format() const override { return nf4_format(shape_, block_); }
  std::uint64_t bytes() const override {
    return packed_.bytes().size() + absmax_.size() * sizeof(float);
  }
  // A row may begin in the middle of a block, and of a byte.
  void decode_row(std::int64_t row, float* out) const override {
    const auto packed = packed_.values<std::uint8_t>();
    const std::span<const float> levels = nf4_levels();
    const std::int64_t first = row * shape_[1];
    for (std::int64_t i = first; i < first + shape_[1]; ++i) {
      out[i - first] = levels[nf4_code(packed, static_cast<std::size_t>(i))] * scale_of(i);
    }
  }
  bool read_float_codes(std::int64_t row, FloatCode code, FloatCodeRow& out) const override {
    if (code != FloatCode::nf4 || format() != kNf4) return false;
    const auto packed = packed_.values<std::uint8_t>();
    const std::int64_t first = row * shape_[1];
    out.codes.resize(static_cast<std::size_t>(shape_[1]));
    out.scales.clear();
    for (std::int64_t i = 0; i < shape_[1]; ++i) {
      out.codes[static_cast<std::size_t>(i)] =
          nf4_code(packed, static_cast<std::size_t>(first + i));
      if (i % float_group(code) == 0) out.scales.push_back(scale_of(first + i));
    }
    return true;
  }

 private:
  float scale_of(std::int64_t i) const { return absmax_[static_cast<std::size_t>(i / block_)]; }

  Shape shape_;
  std::int64_t block_;
  Tensor packed_;
  std::vector<float> absmax_;
};

}  // namespace

std::string_view nf4_format(const Shape& shape, std::int64_t block) {
  const std::int64_t group = float_group(FloatCode::nf4);
  return shape[1] % group == 0 && block % group == 0 ? kNf4 : kNf4Flat;
}

std::shared_ptr<const CodedRows> affine_rows(const AffineFormat& format, Tensor words,
                                             Tensor scales, Tensor biases) {
  return std::make_shared<AffineRows>(format, std::move(words), std::move(scales),
                                      std::move(biases));
}

std::shared_ptr<const CodedRows> microscaled_rows(Microscaling mode, Tensor words, Tensor scales) {
  return std::make_shared<MicroscaledRows>(mode, std::move(words), std::move(scales));
}

std::shared_ptr<const CodedRows> nf4_rows(Shape shape, std::int64_t block, Tensor packed,
                                          std::vector<float> absmax) {
  return std::make_shared<Nf4Rows>(std::move(shape), block, std::move(packed), std::move(absmax));
}

}  // namespace linnet
