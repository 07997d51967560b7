#include "model/finite.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "model/model_folder.h"
#include "tensor/blocks.h"

using namespace linnet;
using linnet::testing::ModelFolder;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor encoded(DType dtype, const Shape& shape, const std::vector<float>& values) {
  const Tensor out = Tensor::zeros(dtype, shape);
  encode(dtype, values.data(), const_cast<std::byte*>(out.bytes().data()), out.elements());
  return out;
}

// What decoding every element finds.
NonFinite by_decoding(const Tensor& tensor) {
  NonFinite found;
  const auto values = tensor.to_floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    if (found.count++ == 0) found.first = static_cast<std::int64_t>(i);
  }
  return found;
}

}  // namespace

TEST_CASE("NaN and infinities are found in plain types, wherever they are") {
  ThreadPool pool(2);
  const Shape shape = {700, 1001};  // several pieces, none of a round size
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    std::vector<float> values(700 * 1001, 0.5f);
    values[7] = -65504.0f, values[8] = 1e-30f;
    CHECK(find_non_finite(encoded(dtype, shape, values), pool).count == 0);
    for (const std::int64_t place :
         {std::int64_t{0}, std::int64_t{4095}, std::int64_t{700700 - 1}}) {
      for (const float bad : {kNan, kInfinity, -kInfinity}) {
        std::vector<float> broken = values;
        broken[static_cast<std::size_t>(place)] = bad;
        broken.back() = bad;
        const NonFinite found = find_non_finite(encoded(dtype, shape, broken), pool);
        CHECK(found.first == place);
        CHECK(found.count == (place == 700700 - 1 ? 1 : 2));
        CHECK((std::isnan(bad) ? std::isnan(found.first_value) : found.first_value == bad));
      }
    }
  }
}

TEST_CASE("all numbers broken are all counted") {
  ThreadPool pool(1);
  const std::vector<float> values(300000, kNan);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    CHECK(find_non_finite(encoded(dtype, {3, 100000}, values), pool).count == 300000);
}

TEST_CASE("blocks of random bytes: the same as decoding finds") {
  ThreadPool pool(2);
  RandomStream stream(4);
  for (const DType dtype :
       {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::q2_k, DType::q3_k,
        DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs, DType::mxfp4}) {
    const DTypeInfo& info = dtype_info(dtype);
    std::vector<std::byte> bytes(static_cast<std::size_t>(200 * info.block_bytes));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(stream.next_uniform() * 256);
    const Tensor tensor = Tensor::from_bytes(dtype, {200, info.block_values}, bytes);
    const NonFinite found = find_non_finite(tensor, pool), expected = by_decoding(tensor);
    CHECK_MESSAGE(found.count == expected.count, info.name);
    CHECK(found.first == expected.first);
    CHECK_MESSAGE(expected.count > 0, info.name);  // 3 % of random f16 are not finite
  }
}

TEST_CASE("broken weights are refused by name, or reported when they are allowed") {
  ModelFolder folder;
  std::vector<float> values = folder.tensors[3].second.to_floats();
  values[5] = kNan, values[9] = kInfinity;
  folder.tensors[3].second = Tensor::from_values(folder.tensors[3].second.shape(), values);
  const std::string fault = folder.fault();
  for (const std::string& part : {folder.tensors[3].first, std::string("2 of 64"),
                                  std::string("index 5"), std::string("nan")}) {
    CHECK_MESSAGE(fault.find(part) != std::string::npos, fault);
  }
  const auto model = folder.load({.allow_non_finite = true});
  REQUIRE(model->report().non_finite.size() == 1);
  CHECK(model->report().non_finite[0].find(folder.tensors[3].first) != std::string::npos);
  KvCache cache = model->make_cache();
  const std::int32_t tokens[] = {3}, positions[] = {0}, selected[] = {0};
  const SequenceRows rows[] = {{&cache, 1}};
  Batch batch;
  batch.tokens = tokens, batch.positions = positions, batch.sequences = rows,
  batch.selected = selected;
  CHECK_THROWS_WITH_AS(model->run(batch), doctest::Contains("not finite"), Error);
  CHECK(cache.length() == 0);
  CHECK(cache.rope_length() == 0);
  // A tensor that the model does not use is not looked at.
  folder.make_tensors();
  folder.tensors.emplace_back("extra", Tensor::from_values({1}, std::vector<float>{kNan}));
  CHECK_NOTHROW(folder.load());
}
