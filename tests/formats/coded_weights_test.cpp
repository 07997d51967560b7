#include "formats/coded_weights.h"

#include <doctest/doctest.h>

#include "base/random.h"
#include "formats/fault.h"
#include "formats/model_files.h"
#include "formats/safetensors.h"
#include "formats/temp_folder.h"
#include "tensor/coded_rows.h"

namespace linnet {
namespace {

constexpr std::int64_t kInputs = 72;  // the last group of N4 has 8
constexpr const char* kOwn = R"({"quantization_config": {"quant_method": "linnet", "version": 1}})";

std::vector<float> random_row(RandomStream& stream) {
  std::vector<float> row(kInputs);
  for (float& value : row) value = stream.next_uniform() - 0.5f;
  return row;
}

// Three rows each of I8 (a.weight), N4 (b.weight) and S6 (c.weight), and a vector.
struct CodedFolder {
  TempFolder folder;
  std::vector<I8Row> i8{3};
  std::vector<N4Row> n4{3};
  std::vector<S6Row> s6{3};
  NamedTensors tensors;

  CodedFolder() {
    RandomStream stream(7);
    for (I8Row& row : i8) encode_i8(random_row(stream), row);
    for (N4Row& row : n4) encode_n4(random_row(stream), {}, row);
    for (S6Row& row : s6) encode_s6(random_row(stream), {}, row);
    for (auto& named : stored_tensors("a.weight", i8)) tensors.push_back(std::move(named));
    for (auto& named : stored_tensors("b.weight", n4)) tensors.push_back(std::move(named));
    for (auto& named : stored_tensors("c.weight", s6)) tensors.push_back(std::move(named));
    tensors.emplace_back("norm.weight", Tensor::from_values({2}, std::vector<float>{1, 2}));
  }
  Tensor& at(std::string_view name) {
    for (auto& [key, tensor] : tensors) {
      if (key == name) return tensor;
    }
    throw std::runtime_error("no such tensor");
  }
  ModelFiles open(const std::string& config = kOwn) const {
    folder.write("config.json", config);
    write_safetensors(folder / "model.safetensors", tensors);
    return open_model_files(folder.path());
  }
};

std::vector<float> decoded(const Tensor& tensor, std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(tensor.dim(-1)));
  tensor.decode_row(row, values.data());
  return values;
}

}  // namespace

TEST_CASE("a matrix of several tensors is one tensor, with the codes as they were") {
  const CodedFolder stored;
  const ModelFiles files = stored.open();
  std::vector<std::string> seen;
  for (const TensorInfo& info : files.weights->tensors()) {
    seen.push_back(info.name + " " + std::string(type_name(info)) + " " + shape_text(info.shape));
  }
  std::sort(seen.begin(), seen.end());
  CHECK(seen == std::vector<std::string>{"a.weight i8 [3, 72]", "b.weight n4 [3, 72]",
                                         "c.weight s6 [3, 72]", "norm.weight f32 [2]"});
  const Tensor a = files.tensor("a.weight"), b = files.tensor("b.weight");
  CHECK(a.stored_bytes() == 3 * (72 + 4));
  CHECK(b.stored_bytes() == 3 * (36 + 3 + 2));
  const Tensor c = files.tensor("c.weight");
  CHECK(c.stored_bytes() == 3 * (54 + 2 + 2));
  CHECK(stored_bytes(*files.find("b.weight")) == b.stored_bytes());
  for (std::int64_t row = 0; row < 3; ++row) {
    const auto i = static_cast<std::size_t>(row);
    std::vector<float> expected(kInputs);
    I8Row i8;
    N4Row n4;
    REQUIRE(a.coded_rows()->read_i8(row, i8));
    CHECK_FALSE(a.coded_rows()->read_n4(row, n4));
    CHECK(i8.codes == stored.i8[i].codes);
    CHECK(i8.scale == stored.i8[i].scale);
    decode_i8(i8, expected.data());
    CHECK(decoded(a, row) == expected);
    REQUIRE(b.coded_rows()->read_n4(row, n4));
    CHECK_FALSE(b.coded_rows()->read_i8(row, i8));
    CHECK(n4.codes == stored.n4[i].codes);
    CHECK(n4.groups == stored.n4[i].groups);
    CHECK(n4.scale == stored.n4[i].scale);
    decode_n4(n4, expected.data());
    CHECK(decoded(b, row) == expected);
    S6Row s6;
    REQUIRE(c.coded_rows()->read_s6(row, s6));
    CHECK_FALSE(c.coded_rows()->read_n4(row, n4));
    CHECK(s6.codes == stored.s6[i].codes);
    CHECK(s6.groups == stored.s6[i].groups);
    CHECK(s6.scale == stored.s6[i].scale);
    decode_s6(s6, expected.data());
    CHECK(decoded(c, row) == expected);
    decode_n4(n4, expected.data());
    const std::vector<float> all = b.to_floats();
    CHECK(std::equal(expected.begin(), expected.end(), all.begin() + row * kInputs));
  }
}

TEST_CASE("--dtype decodes codes first") {
  const CodedFolder stored;
  stored.open();
  OpenOptions options;
  options.dtype = DType::f32;
  const Tensor b = open_model_files(stored.folder.path(), options).tensor("b.weight");
  CHECK(b.dtype() == DType::f32);
  std::vector<float> expected(kInputs);
  decode_n4(stored.n4[2], expected.data());
  CHECK(decoded(b, 2) == expected);
}

TEST_CASE("without a method in the config the parts are tensors of their own") {
  const ModelFiles files = CodedFolder().open("{}");
  CHECK(files.has("b.weight_groups"));
  CHECK(files.tensor("b.weight").dtype() == DType::u8);
}

TEST_CASE("parts that are missing or do not fit are named") {
  const auto fault = [](const CodedFolder& stored) {
    const auto found = fault_of([&] { stored.open(); });
    REQUIRE(found);
    CHECK(found->code == ErrorCode::corrupt_file);
    return found->message;
  };
  for (const std::string name :
       {"a.weight_scale", "b.weight_scale", "b.weight_groups", "c.weight_scale"}) {
    CAPTURE(name);
    CodedFolder without;
    std::erase_if(without.tensors, [&](const auto& named) { return named.first == name; });
    CHECK(fault(without).find(name) != std::string::npos);
    CodedFolder short_of_rows;
    Shape shape = short_of_rows.at(name).shape();
    shape[0] = 2;
    const DType dtype = short_of_rows.at(name).dtype();
    short_of_rows.at(name) = Tensor::zeros(dtype, shape);
    CHECK(fault(short_of_rows).find(name) != std::string::npos);
    CodedFolder of_type;
    of_type.at(name) = Tensor::zeros(DType::u8, of_type.at(name).shape());
    CHECK(fault(of_type).find(name) != std::string::npos);
  }
  CodedFolder narrow;
  narrow.at("b.weight_groups") = Tensor::zeros(DType::i8, {3, 2});
  CHECK(fault(narrow).find("[3, 3] is needed") != std::string::npos);
  CodedFolder six_narrow;
  six_narrow.at("c.weight_groups64") = Tensor::zeros(DType::i8, {3, 1});
  CHECK(fault(six_narrow).find("[3, 2] is needed") != std::string::npos);
  CodedFolder six_uneven;
  six_uneven.at("c.weight") = Tensor::zeros(DType::u8, {3, 55});
  CHECK(fault(six_uneven).find("four codes of 6 bits") != std::string::npos);
}

TEST_CASE("methods and versions that Linnet does not read are refused by name") {
  const Json foreign = Json::parse(R"({"quantization_config": {"quant_method": "awq"}})", "c");
  auto found = fault_of([&] { require_known_coding(foreign, "config.json"); });
  REQUIRE(found);
  CHECK(found->code == ErrorCode::unsupported);
  CHECK(found->mentions("\"awq\""));
  CHECK_FALSE(fault_of([] { require_known_coding(Json::parse(kOwn, "c"), "c"); }));
  CHECK_FALSE(fault_of([] { require_known_coding(Json::object(), "c"); }));
  found = fault_of([] {
    CodedFolder().open(R"({"quantization_config": {"quant_method": "linnet", "version": 2}})");
  });
  REQUIRE(found);
  CHECK(found->code == ErrorCode::unsupported);
  CHECK(found->mentions("version 2"));
  for (const char* config : {R"({"quantization_config": 4})", R"({"quantization_config": {}})"}) {
    found = fault_of([&] { CodedFolder().open(config); });
    REQUIRE(found);
    CHECK(found->code == ErrorCode::corrupt_file);
  }
}

}  // namespace linnet
