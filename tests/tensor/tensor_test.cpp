#include "tensor/tensor.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/memory_account.h"

namespace linnet {
namespace {

Bytes bytes_of(const auto& values) { return std::as_bytes(std::span(values)); }

}  // namespace

TEST_CASE("sizes of shapes are checked") {
  CHECK(element_count({}, "t") == 1);
  CHECK(element_count({3, 0, 5}, "t") == 0);
  CHECK(element_count({2, 3, 4}, "t") == 24);
  const std::int64_t big = std::int64_t{1} << 32;
  CHECK_THROWS_WITH_AS(element_count({big, big}, "tensor \"x\""), doctest::Contains("tensor \"x\""),
                       Error);
  CHECK_THROWS_AS(element_count({0, big, big}, "t"), Error);
  CHECK_THROWS_AS(element_count({2, -3}, "t"), Error);
  CHECK(tensor_bytes(DType::f16, {3, 5}, "t") == 30);
  CHECK(tensor_bytes(DType::q4_k, {2, 512}, "t") == 576);
  CHECK_THROWS_AS(tensor_bytes(DType::q4_0, {32, 33}, "t"), Error);
  CHECK_THROWS_AS(tensor_bytes(DType::q4_0, {}, "t"), Error);
  CHECK_THROWS_AS(tensor_bytes(DType::f64, {std::int64_t{1} << 62}, "t"), Error);
  CHECK(shape_text({2, 64}) == "[2, 64]");
  CHECK(shape_text({}) == "[]");
}

TEST_CASE("a default tensor is none, a scalar is one") {
  CHECK(Tensor().empty());
  CHECK(Tensor().elements() == 0);
  const Tensor scalar = Tensor::from_values({}, std::array{2.5f});
  CHECK_FALSE(scalar.empty());
  CHECK(scalar.elements() == 1);
  CHECK(scalar.rows() == 1);
  CHECK(scalar.to_floats() == std::vector<float>{2.5f});
  const Tensor none = Tensor::zeros(DType::f32, {0, 4});
  CHECK_FALSE(none.empty());
  CHECK(none.to_floats().empty());
}

TEST_CASE("rows and axes") {
  const Tensor tensor =
      Tensor::from_values({2, 2, 3}, std::array<float, 12>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(tensor.rows() == 4);
  CHECK(tensor.row_bytes() == 12);
  CHECK(tensor.dim(-1) == 3);
  CHECK(tensor.dim(1) == 2);
  float row[3];
  tensor.decode_row(2, row);
  CHECK(row[0] == 6);
  CHECK(row[2] == 8);
  CHECK_THROWS_AS(tensor.decode_row(4, row), std::logic_error);
}

TEST_CASE("a view keeps its owner alive and copies nothing") {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
  const std::weak_ptr<std::vector<float>> watch = owner;
  const float* data = owner->data();
  Tensor view(DType::f32, {2, 2}, bytes_of(*owner), owner);
  owner.reset();
  CHECK_FALSE(watch.expired());
  CHECK(view.values<float>().data() == data);
  CHECK(view.to_f32().values<float>().data() == data);
  view = Tensor();
  CHECK(watch.expired());
}

TEST_CASE("bytes that do not fit the shape are a bug") {
  const std::array<float, 3> values{};
  CHECK_THROWS_AS(Tensor(DType::f32, {4}, bytes_of(values), nullptr), std::logic_error);
  CHECK_THROWS_AS(Tensor::from_values({2, 2}, values), std::logic_error);
}

TEST_CASE("misaligned bytes are copied, aligned ones and blocks are not") {
  alignas(8) std::array<std::byte, 64> bytes{};
  const float value = 1.5f;
  std::memcpy(bytes.data() + 1, &value, sizeof(value));
  const Bytes odd(bytes.data() + 1, 4);
  const Tensor copied = Tensor::aligned(DType::f32, {1}, odd, nullptr);
  CHECK(copied.bytes().data() != odd.data());
  CHECK(copied.values<float>()[0] == 1.5f);
  CHECK(Tensor::aligned(DType::f32, {1}, Bytes(bytes.data() + 8, 4), nullptr).bytes().data() ==
        bytes.data() + 8);
  const Bytes block(bytes.data() + 1, 18);
  CHECK(Tensor::aligned(DType::q4_0, {32}, block, nullptr).bytes().data() == block.data());
}

TEST_CASE("memory is charged to the weights") {
  const std::int64_t before = MemoryAccount::weights().active();
  {
    const Tensor tensor = Tensor::zeros(DType::f32, {16, 16});
    CHECK(MemoryAccount::weights().active() == before + 1024);
  }
  CHECK(MemoryAccount::weights().active() == before);
}

TEST_CASE("values of other types are widened") {
  const std::array<std::uint16_t, 2> halves{0x3c00, 0xc000};
  CHECK(Tensor::from_bytes(DType::f16, {2}, bytes_of(halves)).to_floats() ==
        std::vector<float>{1, -2});
  CHECK(Tensor::from_bytes(DType::f16, {2}, bytes_of(halves)).to_f32().values<float>()[1] == -2);
  const std::array<double, 1> doubles{0.1};
  CHECK(Tensor::from_bytes(DType::f64, {1}, bytes_of(doubles)).to_floats()[0] == 0.1f);
}

TEST_CASE("integers are integers") {
  const std::array<std::int32_t, 2> words{-5, 7};
  const Tensor ints = Tensor::from_bytes(DType::i32, {2}, bytes_of(words));
  CHECK(ints.to_ints() == std::vector<std::int64_t>{-5, 7});
  CHECK_THROWS_AS(ints.to_floats(), Error);
  CHECK_THROWS_AS(ints.to_f32(), Error);
  CHECK_THROWS_AS(Tensor::zeros(DType::f32, {2}).to_ints(), Error);
  const std::array<std::uint64_t, 1> big{~std::uint64_t{0}};
  CHECK_THROWS_AS(Tensor::from_bytes(DType::u64, {1}, bytes_of(big)).to_ints(), Error);
  const std::array<std::uint8_t, 2> flags{1, 0};
  CHECK(Tensor::from_bytes(DType::boolean, {2}, bytes_of(flags)).to_ints() ==
        std::vector<std::int64_t>{1, 0});
  const std::array<std::int8_t, 2> signed_bytes{-128, 127};
  CHECK(Tensor::from_bytes(DType::i8, {2}, bytes_of(signed_bytes)).to_ints() ==
        std::vector<std::int64_t>{-128, 127});
}

}  // namespace linnet
