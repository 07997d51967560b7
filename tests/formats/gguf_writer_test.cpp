#include "formats/gguf_writer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "formats/fault.h"
#include "formats/gguf.h"
#include "formats/temp_folder.h"
#include "tensor/blocks.h"

namespace linnet {
namespace {

OutgoingTensor outgoing(const std::string& name, const Tensor& tensor, DType dtype) {
  OutgoingTensor out;
  out.info = {name, dtype, tensor.shape()};
  out.load = [tensor] { return tensor; };
  return out;
}

Tensor ramp(Shape shape) {
  const std::int64_t count = element_count(shape, "ramp");
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i % 37 - 18) / 8);
  return Tensor::from_values(std::move(shape), values);
}

void write(const std::filesystem::path& path, const std::vector<GgufField>& fields,
           const std::vector<OutgoingTensor>& tensors, OutputOptions options = {}) {
  TensorOutput output(total_bytes(tensors), std::move(options));
  write_gguf(path, fields, tensors, output);
}

std::size_t entries(const TempFolder& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.path()),
                                                std::filesystem::directory_iterator()));
}

}  // namespace

TEST_CASE("every type of value reads back as what it was") {
  const TempFolder folder;
  const std::vector<GgufField> fields = {
      {"a.u8", std::uint8_t{200}},
      {"a.i8", std::int8_t{-100}},
      {"a.u16", std::uint16_t{60000}},
      {"a.i16", std::int16_t{-30000}},
      {"a.u32", std::uint32_t{4000000000}},
      {"a.i32", std::int32_t{-2000000000}},
      {"a.u64", std::uint64_t{1} << 62},
      {"a.i64", -(std::int64_t{1} << 62)},
      {"a.f32", 0.1f},
      {"a.f64", 0.1},
      {"a.bool", true},
      {"a.text", std::string("grüße\n")},
      {"a.ints", std::vector<std::int32_t>{1, -2, 3}},
      {"a.reals", std::vector<float>{0.5f, -1}},
      {"a.texts", std::vector<std::string>{"", "x", "yz"}},
      {"a.none", std::vector<std::string>{}},
  };
  write(folder / "f.gguf", fields, {});
  const auto file = GgufFile::open(folder / "f.gguf");
  CHECK(file->at("a.u8").as_int() == 200);
  CHECK(file->at("a.i8").as_int() == -100);
  CHECK(file->at("a.u16").as_int() == 60000);
  CHECK(file->at("a.i16").as_int() == -30000);
  CHECK(file->at("a.u32").as_int() == 4000000000);
  CHECK(file->at("a.i32").as_int() == -2000000000);
  CHECK(file->at("a.u64").as_int() == std::int64_t{1} << 62);
  CHECK(file->at("a.i64").as_int() == -(std::int64_t{1} << 62));
  CHECK(file->at("a.f32").as_double() == static_cast<double>(0.1f));
  CHECK(file->at("a.f64").as_double() == 0.1);
  CHECK(file->at("a.bool").as_bool());
  CHECK(file->at("a.text").as_string() == "grüße\n");
  CHECK(file->at("a.ints").as_ints() == std::vector<std::int64_t>{1, -2, 3});
  CHECK(file->at("a.reals").as_doubles() == std::vector<double>{0.5, -1});
  CHECK(file->at("a.texts").as_strings() == std::vector<std::string_view>{"", "x", "yz"});
  CHECK(file->at("a.none").as_strings().empty());
}

TEST_CASE("tensors of every type that can be encoded, at any alignment") {
  const TempFolder folder;
  const Tensor values = ramp({3, 64});
  for (const std::uint32_t alignment : {8u, 32u, 64u, 4096u}) {
    std::vector<OutgoingTensor> tensors = {outgoing("odd", ramp({3}), DType::f32)};
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::q4_0, DType::q4_1,
                              DType::q5_0, DType::q5_1, DType::q8_0, DType::mxfp4}) {
      tensors.push_back(outgoing(std::string(dtype_name(dtype)), values, dtype));
    }
    write(folder / "f.gguf", {{"general.alignment", alignment}}, tensors);
    const auto file = GgufFile::open(folder / "f.gguf");
    CHECK(file->tensor("odd").to_floats() == ramp({3}).to_floats());
    for (const OutgoingTensor& tensor : tensors) {
      if (tensor.info.name == "odd") continue;
      CAPTURE(tensor.info.name);
      const Tensor read = file->tensor(tensor.info.name);
      REQUIRE(read.dtype() == tensor.info.dtype);
      CHECK(read.shape() == values.shape());
      std::vector<std::byte> expected(read.bytes().size());
      encode(read.dtype(), values.values<float>().data(), expected.data(), values.elements());
      CHECK(std::vector<std::byte>(read.bytes().begin(), read.bytes().end()) == expected);
    }
    // The file ends at the alignment, as the reference reader wants it.
    CHECK(std::filesystem::file_size(folder / "f.gguf") % alignment == 0);
  }
}

TEST_CASE("a large tensor is converted in pieces that fit together") {
  const TempFolder folder;
  const Tensor values = ramp({9000, 256});  // more than two pieces
  write(folder / "f.gguf", {}, {outgoing("x", values, DType::q8_0)}, {.threads = 3});
  const Tensor read = GgufFile::open(folder / "f.gguf")->tensor("x");
  std::vector<std::byte> expected(read.bytes().size());
  encode(DType::q8_0, values.values<float>().data(), expected.data(), values.elements());
  CHECK(std::equal(expected.begin(), expected.end(), read.bytes().begin()));
}

TEST_CASE("values beyond the range of a type are counted and refused") {
  const TempFolder folder;
  const std::vector<float> values = {1e30f, -70000, 65504, 65519, 65520, INFINITY, NAN, 1};
  const Tensor tensor = Tensor::from_values({8, 1}, values);
  write(folder / "bf16.gguf", {}, {outgoing("x", tensor, DType::bf16)});
  const auto fault =
      fault_of([&] { write(folder / "f16.gguf", {}, {outgoing("x", tensor, DType::f16)}); });
  REQUIRE(fault);
  CHECK(fault->code == ErrorCode::invalid_argument);
  CHECK(fault->mentions("become infinite: 3;"));  // 65519 still rounds to the largest
  CHECK(entries(folder) == 1);
}

TEST_CASE("what cannot be written is refused, and nothing is left") {
  const TempFolder folder;
  const Tensor tensor = ramp({2, 32});
  const auto refused = [&](const std::vector<GgufField>& fields,
                           const std::vector<OutgoingTensor>& tensors, const std::string& mention) {
    const auto fault = fault_of([&] { write(folder / "f.gguf", fields, tensors); });
    REQUIRE(fault);
    CHECK(fault->mentions(mention));
    CHECK(entries(folder) == 0);
  };
  refused({{"a", true}, {"a", false}}, {}, "\"a\"");
  refused({{"", true}}, {}, "1 to 65535");
  refused({{"general.alignment", 48u}}, {}, "power of two");
  refused({{"general.alignment", 0u}}, {}, "power of two");
  const OutgoingTensor good = outgoing("x", tensor, DType::f32);
  refused({}, {good, good}, "twice");
  refused({}, {outgoing(std::string(64, 'n'), tensor, DType::f32)}, "63 bytes");
  refused({}, {outgoing("x", ramp({1, 1, 1, 1, 1}), DType::f32)}, "four axes");
  refused({}, {outgoing("x", Tensor::zeros(DType::u8, {2}), DType::u8)}, "u8");
  refused({}, {outgoing("x", tensor, DType::q4_k)}, "multiple");
  refused({}, {outgoing("x", ramp({1, 256}), DType::q4_k)}, "q4_k");
  OutgoingTensor broken = good;
  broken.load = []() -> Tensor { fail(ErrorCode::corrupt_file, "cut short"); };
  refused({},
          {good,
           [&] {
             broken.info.name = "y";
             return broken;
           }()},
          "cut short");
}

TEST_CASE("progress ends at 1, and a cancelled write leaves nothing") {
  const TempFolder folder;
  std::atomic<bool> cancel{false};
  double last = 0;
  OutputOptions options;
  options.cancel = &cancel;
  options.on_progress = [&](double fraction) {
    CHECK(fraction >= last);
    last = fraction;
  };
  const std::vector<OutgoingTensor> tensors = {outgoing("x", ramp({64, 32}), DType::f32),
                                               outgoing("y", ramp({64, 32}), DType::q8_0)};
  write(folder / "f.gguf", {}, tensors, options);
  CHECK(last == 1.0);
  last = 0;
  options.on_progress = [&](double fraction) { cancel = fraction > 0.5; };
  const auto fault = fault_of([&] { write(folder / "g.gguf", {}, tensors, options); });
  REQUIRE(fault);
  CHECK(fault->code == ErrorCode::cancelled);
  CHECK(entries(folder) == 1);
}

}  // namespace linnet
