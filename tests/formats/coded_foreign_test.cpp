// Folders in the formats of others: MLX's and bitsandbytes'.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "base/random.h"
#include "formats/fault.h"
#include "formats/model_files.h"
#include "formats/safetensors.h"
#include "formats/temp_folder.h"
#include "tensor/coded_rows.h"
#include "tensor/nf4.h"
#include "tensor/packed_codes.h"

namespace linnet {
namespace {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

constexpr std::int64_t kOutputs = 3, kInputs = 256;

std::vector<float> random_values(std::int64_t count, std::uint64_t seed) {
  RandomStream stream(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = stream.next_uniform() - 0.5f;
  return values;
}

template <typename T>
Tensor tensor_of(DType dtype, Shape shape, const std::vector<T>& values) {
  return Tensor::from_bytes(dtype, std::move(shape), std::as_bytes(std::span(values)));
}

ModelFiles open(const TempFolder& folder, const NamedTensors& tensors, const std::string& config) {
  folder.write("config.json", config);
  write_safetensors(folder / "model.safetensors", tensors);
  return open_model_files(folder.path());
}

// An affine matrix "a.weight" and what it decodes to. Scales are rounded to bf16 first.
struct AffineCase {
  NamedTensors tensors;
  std::vector<float> expected;

  explicit AffineCase(const AffineFormat& format) {
    const std::int64_t words = packed_words(kInputs, format.bits), groups = kInputs / format.group;
    std::vector<std::uint32_t> all_words;
    std::vector<std::uint16_t> all_scales, all_biases;
    for (std::int64_t row = 0; row < kOutputs; ++row) {
      std::vector<std::uint32_t> codes(static_cast<std::size_t>(words));
      std::vector<float> scales(static_cast<std::size_t>(groups)), biases(scales.size());
      encode_affine(format, random_values(kInputs, static_cast<std::uint64_t>(row)), codes, scales,
                    biases);
      for (auto* list : {&scales, &biases}) {
        for (float& value : *list) {
          (list == &scales ? all_scales : all_biases).push_back(f32_to_bf16(value));
          value = bf16_to_f32(f32_to_bf16(value));
        }
      }
      std::vector<float> decoded(kInputs);
      decode_affine(format, {codes, scales, biases}, decoded);
      expected.insert(expected.end(), decoded.begin(), decoded.end());
      all_words.insert(all_words.end(), codes.begin(), codes.end());
    }
    tensors = {{"a.weight", tensor_of(DType::u32, {kOutputs, words}, all_words)},
               {"a.scales", tensor_of(DType::bf16, {kOutputs, groups}, all_scales)},
               {"a.biases", tensor_of(DType::bf16, {kOutputs, groups}, all_biases)}};
  }
};

std::string affine_config(const AffineFormat& format, const std::string& rest = "") {
  return R"({"quantization": {"group_size": )" + std::to_string(format.group) + R"(, "bits": )" +
         std::to_string(format.bits) + rest + "}}";
}

Nf4Tensor nf4_values() {
  // Rows of 250 begin within blocks, and odd ones within bytes of the next block.
  return encode_nf4(random_values(kOutputs * 250, 9));
}

NamedTensors nf4_tensors(const Nf4Tensor& nf4, const NestedScales* nested) {
  const auto of = [](DType dtype, const auto& values) {
    return Tensor::from_bytes(dtype, {static_cast<std::int64_t>(values.size())},
                              std::as_bytes(std::span(values)));
  };
  std::string state = R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16",
                          "shape": [3, 250])";
  NamedTensors tensors = {
      {"a.weight",
       tensor_of(DType::u8, {static_cast<std::int64_t>(nf4.packed.size()), 1}, nf4.packed)},
      {"a.weight.quant_map", of(DType::f32, nf4_levels())}};
  if (nested != nullptr) {
    state += R"(, "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": )" +
             json_number(static_cast<double>(nested->offset));
    tensors.emplace_back("a.weight.absmax", of(DType::u8, nested->codes));
    tensors.emplace_back("a.weight.nested_absmax", of(DType::f32, nested->absmax));
    tensors.emplace_back("a.weight.nested_quant_map", of(DType::f32, dynamic_levels()));
  } else {
    tensors.emplace_back("a.weight.absmax", of(DType::f32, nf4.absmax));
  }
  state += "}";
  tensors.emplace_back("a.weight.quant_state.bitsandbytes__nf4",
                       of(DType::u8, std::vector<char>(state.begin(), state.end())));
  return tensors;
}

// The kernels' form of a matrix has its values.
void check_groups(const Tensor& tensor, const std::vector<float>& expected) {
  const CodedRows& rows = *tensor.coded_rows();
  const auto format = rows.grouped();
  REQUIRE(format);
  GroupedRow row;
  for (std::int64_t i = 0; i < tensor.dim(0); ++i) {
    REQUIRE(rows.read_grouped(i, *format, row));
    for (std::int64_t k = 0; k < tensor.dim(1); ++k) {
      const auto g = static_cast<std::size_t>(k / format->group);
      const float product =
          static_cast<float>(row.levels[static_cast<std::size_t>(k)]) * row.scales[g];
      const float value = format->has_bias ? product + row.biases[g] : product;
      CHECK(value == expected[static_cast<std::size_t>(i * tensor.dim(1) + k)]);
    }
  }
}

constexpr const char* kNf4Config =
    R"({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true,
                                "bnb_4bit_quant_type": "nf4"}})";

}  // namespace

TEST_CASE("affine matrices of every width and group") {
  for (const int bits : {2, 3, 4, 6, 8}) {
    for (const std::int64_t group : {32, 64, 128}) {
      const AffineFormat format{bits, group};
      CAPTURE(bits);
      CAPTURE(group);
      const TempFolder folder;
      const AffineCase made(format);
      const ModelFiles files = open(folder, made.tensors, affine_config(format));
      CHECK(files.weights->tensors().size() == 1);
      const Tensor a = files.tensor("a.weight");
      CHECK(a.shape() == Shape{kOutputs, kInputs});
      CHECK(a.to_floats() == made.expected);
      check_groups(a, made.expected);
      CHECK(stored_bytes(*files.find("a.weight")) == a.stored_bytes());
    }
  }
}

TEST_CASE("a module may have its own bits; the key may be that of transformers") {
  const TempFolder folder;
  const AffineFormat format{8, 32};
  const AffineCase made(format);
  const std::string own = R"(, "a": {"group_size": 32, "bits": 8}, "b": false)";
  CHECK(open(folder, made.tensors, affine_config({4, 64}, own)).tensor("a.weight").to_floats() ==
        made.expected);
  const ModelFiles files =
      open(folder, made.tensors, R"({"quantization_config": {"group_size": 32, "bits": 8}})");
  CHECK(files.tensor("a.weight").to_floats() == made.expected);
}

TEST_CASE("microscaled matrices") {
  for (const Microscaling mode : {Microscaling::mxfp4, Microscaling::mxfp8, Microscaling::nvfp4}) {
    const MicroscalingInfo& info = microscaling_info(mode);
    CAPTURE(info.name);
    const std::int64_t words = packed_words(kInputs, info.bits), groups = kInputs / info.group;
    std::vector<std::uint32_t> all_words;
    std::vector<std::uint8_t> all_scales;
    std::vector<float> expected;
    for (std::int64_t row = 0; row < kOutputs; ++row) {
      std::vector<std::uint32_t> codes(static_cast<std::size_t>(words));
      std::vector<std::uint8_t> scales(static_cast<std::size_t>(groups));
      encode_microscaled(mode, random_values(kInputs, static_cast<std::uint64_t>(row)), codes,
                         scales);
      std::vector<float> decoded(kInputs);
      decode_microscaled(mode, codes, scales, decoded);
      expected.insert(expected.end(), decoded.begin(), decoded.end());
      all_words.insert(all_words.end(), codes.begin(), codes.end());
      all_scales.insert(all_scales.end(), scales.begin(), scales.end());
    }
    const TempFolder folder;
    const ModelFiles files =
        open(folder,
             {{"a.weight", tensor_of(DType::u32, {kOutputs, words}, all_words)},
              {"a.scales", tensor_of(DType::u8, {kOutputs, groups}, all_scales)}},
             R"({"quantization": {"group_size": 32, "bits": 4, "mode": ")" +
                 std::string(info.name) + "\"}}");
    const Tensor a = files.tensor("a.weight");
    CHECK(a.to_floats() == expected);
    // The levels of mxfp8 are no whole numbers of a byte.
    CHECK(a.coded_rows()->grouped().has_value() == (mode != Microscaling::mxfp8));
    if (mode != Microscaling::mxfp8) check_groups(a, expected);
    CHECK(type_name(*files.find("a.weight")) == info.name);
  }
}

TEST_CASE("NF4, its scales as they are and quantized once more") {
  const Nf4Tensor nf4 = nf4_values();
  const NestedScales nested = encode_nested(nf4.absmax);
  for (const bool is_nested : {false, true}) {
    CAPTURE(is_nested);
    const TempFolder folder;
    const ModelFiles files =
        open(folder, nf4_tensors(nf4, is_nested ? &nested : nullptr), kNf4Config);
    CHECK(files.weights->tensors().size() == 1);
    std::vector<float> expected(kOutputs * 250);
    decode_nf4(nf4.packed,
               is_nested ? decode_nested(nested.codes, nested.absmax, nested.offset) : nf4.absmax,
               64, expected);
    const Tensor a = files.tensor("a.weight");
    CHECK(a.shape() == Shape{kOutputs, 250});
    CHECK(a.to_floats() == expected);
  }
}

TEST_CASE("what does not fit is named") {
  const AffineFormat format{4, 64};
  const auto fault = [](const NamedTensors& tensors, const std::string& config) {
    const TempFolder folder;
    const auto found = fault_of([&] { open(folder, tensors, config); });
    REQUIRE(found);
    CHECK((found->code == ErrorCode::corrupt_file || found->code == ErrorCode::unsupported));
    return found->message;
  };
  const auto has = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const NamedTensors whole = AffineCase(format).tensors;
  for (const std::size_t part : {1, 2}) {
    NamedTensors tensors = whole;
    tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(part));
    has(fault(tensors, affine_config(format)), whole[part].first.c_str());
    tensors = whole;
    tensors[part].second = Tensor::zeros(DType::bf16, {kOutputs, 5});
    has(fault(tensors, affine_config(format)), whole[part].first.c_str());
  }
  has(fault(whole, affine_config({5, 64})), "with 5 bits");
  has(fault(whole, affine_config({4, 48})), "groups of 48");
  has(fault(whole, affine_config(format, R"(, "mode": "ternary")")), "\"ternary\"");
  has(fault(whole, R"({"quantization": {"group_size": 64}})"), "nor bits");
  has(fault(whole, R"({"quantization": 4})"), "must be an object");

  const Nf4Tensor nf4 = nf4_values();
  const NestedScales nested = encode_nested(nf4.absmax);
  const NamedTensors nf4_whole = nf4_tensors(nf4, &nested);
  for (std::size_t part = 1; part < nf4_whole.size(); ++part) {
    NamedTensors tensors = nf4_whole;
    tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(part));
    has(fault(tensors, kNf4Config), nf4_whole[part].first.c_str());
  }
  NamedTensors other_levels = nf4_whole;
  other_levels[1].second = Tensor::zeros(DType::f32, {16});
  has(fault(other_levels, kNf4Config), "other levels");
  NamedTensors short_of_codes = nf4_whole;
  short_of_codes[0].second = Tensor::zeros(DType::u8, {374, 1});
  has(fault(short_of_codes, kNf4Config), "[375, 1] is needed");
}

TEST_CASE("the published NF4 model decodes to its published values") {
  const std::filesystem::path shared = std::filesystem::path(LINNET_SHARED_DIR) / "golden/finetune";
  if (!std::filesystem::exists(shared / "base_nf4")) {
    MESSAGE("skipped: the golden data is not here");
    return;
  }
  const ModelFiles files = open_model_files(shared / "base_nf4");
  const auto expected = SafetensorsFile::open(shared / "base_nf4_dequantized_f32.safetensors");
  std::size_t wrong = 0;
  for (const TensorInfo& info : expected->tensors()) {
    wrong += files.tensor(info.name).to_floats() != expected->tensor(info.name).to_floats();
  }
  CHECK(expected->tensors().size() > 20);
  CHECK(wrong == 0);
}

}  // namespace linnet
