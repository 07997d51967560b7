#include "formats/safetensors.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "formats/fault.h"
#include "formats/gguf_builder.h"
#include "formats/temp_folder.h"

namespace linnet {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  return raw<std::uint64_t>(header.size()) + header + data;
}

std::shared_ptr<const SafetensorsFile> parse(const std::string& content) {
  auto owner = std::make_shared<std::string>(content);
  const Bytes bytes = as_bytes(*owner);
  return SafetensorsFile::from_bytes(bytes, "test.safetensors", std::move(owner));
}

struct BadFile {
  const char* what;
  std::string content;
  const char* mentions;
  ErrorCode code = ErrorCode::corrupt_file;
};

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"("t":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}";
}
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets,
                std::size_t data) {
  return file_of("{" + entry(dtype, shape, offsets) + "}", std::string(data, 'x'));
}

}  // namespace

TEST_CASE("a file with all types, a scalar, an empty tensor and metadata") {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::string data;
  const std::pair<const char*, std::size_t> types[] = {
      {"F64", 8}, {"F32", 4}, {"F16", 2},  {"BF16", 2}, {"I64", 8}, {"I32", 4}, {"I16", 2},
      {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"U16", 2},  {"U32", 4}, {"U64", 8},
  };
  for (const auto& [name, size] : types) {
    header += std::string(",\"") + name + R"(":{"dtype":")" + name +
              R"(","shape":[2],"data_offsets":[)" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + 2 * size) + "]}";
    data += std::string(2 * size, '\1');
  }
  const std::string end = std::to_string(data.size());
  header += R"(,"none":{"dtype":"F32","shape":[0,3],"data_offsets":[)" + end + "," + end + "]}";
  header += R"(,"scalar":{"dtype":"U8","shape":[],"data_offsets":[)" + end + "," +
            std::to_string(data.size() + 1) + "]}}   ";
  const auto file = parse(file_of(header, data + "\7"));
  CHECK(file->tensors().size() == 15);
  CHECK(file->metadata().at("format") == "pt");
  CHECK(file->tensor("I16").to_ints() == std::vector<std::int64_t>{257, 257});
  CHECK(file->tensor("none").elements() == 0);
  CHECK(file->tensor("scalar").to_ints() == std::vector<std::int64_t>{7});
  for (const auto& [name, size] : types) {
    CHECK(safetensors_dtype_name(file->find(name)->dtype) == name);
    CHECK(file->tensor(name).bytes().size() == 2 * size);
  }
  CHECK_FALSE(file->has("other"));
  const auto fault = fault_of([&] { file->tensor("other"); });
  REQUIRE(fault);
  CHECK(fault->code == ErrorCode::not_found);
  CHECK(fault->mentions("\"other\""));
}

TEST_CASE("what is written reads back, and the file is aligned") {
  const TempFolder folder;
  const std::array<float, 4> values{1, -2, 3.5f, 0};
  const std::array<std::int64_t, 2> ids{7, -7};
  write_safetensors(
      folder / "a.safetensors",
      {{"second.name", Tensor::from_values({2, 2}, values)},
       {"ids \"quoted\"", Tensor::from_bytes(DType::i64, {2}, std::as_bytes(std::span(ids)))},
       {"none", Tensor::zeros(DType::f16, {0})}},
      {{"step", "12"}});
  for (const FileAccess access : {FileAccess::map, FileAccess::read}) {
    const auto file = SafetensorsFile::open(folder / "a.safetensors", access);
    // Wider types first, so that all are aligned.
    CHECK(file->tensors()[0].name == "ids \"quoted\"");
    CHECK(file->tensors()[1].name == "second.name");
    CHECK(file->tensor("second.name").to_floats() ==
          std::vector<float>(values.begin(), values.end()));
    CHECK(file->tensor("second.name").shape() == Shape{2, 2});
    CHECK(file->tensor("ids \"quoted\"").to_ints() == std::vector<std::int64_t>{7, -7});
    CHECK(file->tensor("none").shape() == Shape{0});
    CHECK(file->metadata().at("step") == "12");
    CHECK(reinterpret_cast<std::uintptr_t>(file->tensor("second.name").bytes().data()) % 8 == 0);
  }
  const Tensor tensor = Tensor::zeros(DType::f32, {1});
  CHECK_THROWS_AS(write_safetensors(folder / "b.safetensors", {{"a", tensor}, {"a", tensor}}),
                  Error);
  CHECK_THROWS_AS(write_safetensors(folder / "b.safetensors", {{"__metadata__", tensor}}), Error);
  CHECK_THROWS_AS(
      write_safetensors(folder / "b.safetensors", {{"q", Tensor::zeros(DType::q4_0, {32})}}),
      Error);
  CHECK_FALSE(std::filesystem::exists(folder / "b.safetensors"));
}

TEST_CASE("a tensor is a view of the file and keeps it alive") {
  auto owner = std::make_shared<std::string>(one("\"U8\"", "[3]", "[0,3]", 3));
  const std::weak_ptr<std::string> watch = owner;
  const Bytes bytes = as_bytes(*owner);
  auto file = SafetensorsFile::from_bytes(bytes, "test", std::move(owner));
  Tensor tensor = file->tensor("t");
  CHECK(tensor.bytes().data() == bytes.data() + bytes.size() - 3);
  file.reset();
  CHECK_FALSE(watch.expired());
  tensor = Tensor();
  CHECK(watch.expired());
}

TEST_CASE("misaligned data is copied into place") {
  for (const char* padding : {"", " ", "  ", "   "}) {
    const std::string header = "{" + entry("\"F32\"", "[1]", "[0,4]") + "}" + padding;
    const auto file = parse(file_of(header, raw(2.5f)));
    CHECK(file->tensor("t").values<float>()[0] == 2.5f);
    CHECK(reinterpret_cast<std::uintptr_t>(file->tensor("t").bytes().data()) % 4 == 0);
  }
}

TEST_CASE("bad files are refused with what is wrong") {
  const std::string ff(8, '\xff');
  const std::string two_places = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                                 R"("b":{"dtype":"U8","shape":[4],"data_offsets":)";
  const BadFile files[] = {
      {"empty", "", "0 bytes"},
      {"seven bytes", "1234567", "7 bytes"},
      {"length wraps", ff + "{}..........", "header claims 18446744073709551615"},
      {"length is the file's size", raw<std::uint64_t>(10) + "{}", "header claims 10"},
      {"length 0", raw<std::uint64_t>(0) + "{}", "must start with"},
      {"starts with a space", file_of(" {}", ""), "must start with"},
      {"a list", file_of("[]", ""), "must start with"},
      {"two objects", file_of("{}{}", ""), "header"},
      {"invalid UTF-8", file_of("{\"\xff\":1}", ""), "header"},
      {"deep", file_of("{\"a\":" + std::string(100000, '['), ""), "nested deeper"},
      {"entry is a number", file_of("{\"t\":1}", ""), "\"t\""},
      {"no dtype", file_of(R"({"t":{"shape":[1],"data_offsets":[0,1]}})", "x"), "dtype"},
      {"no shape", file_of(R"({"t":{"dtype":"U8","data_offsets":[0,1]}})", "x"), "shape"},
      {"no offsets", file_of(R"({"t":{"dtype":"U8","shape":[1]}})", "x"), "data_offsets"},
      {"metadata is a list", file_of(R"({"__metadata__":[]})", ""), "__metadata__"},
      {"metadata holds a number", file_of(R"({"__metadata__":{"k":1}})", ""), "\"k\""},
      {"size is not shape", one("\"F32\"", "[4,4]", "[0,4]", 4), "needs 64 bytes"},
      {"end before begin", one("\"F32\"", "[1]", "[8,4]", 8), "before it begins"},
      {"negative offset", one("\"F32\"", "[2]", "[-4,4]", 4), "\"t\""},
      {"product wraps", one("\"F32\"", "[4294967296,4294967296]", "[0,0]", 0), "\"t\""},
      {"product wraps behind a zero", one("\"F32\"", "[0,4294967296,4294967296]", "[0,0]", 0),
       "\"t\""},
      {"negative axes", one("\"U8\"", "[-2,-2]", "[0,4]", 4), "\"t\""},
      {"unknown dtype", one("\"Q9\"", "[1]", "[0,4]", 4), "\"Q9\""},
      {"dtype is a number", one("4", "[1]", "[0,4]", 4), "dtype"},
      {"float of 8 bits", one("\"F8_E4M3\"", "[1]", "[0,1]", 1), "F8_E4M3", ErrorCode::unsupported},
      {"fraction", one("\"U8\"", "[4.5]", "[0,4]", 4), "4.5"},
      {"offset near 2^64", one("\"U8\"", "[1]", "[18446744073709551614,18446744073709551615]", 1),
       "\"t\""},
      {"offset near 2^63", one("\"U8\"", "[1]", "[9223372036854775806,9223372036854775807]", 1),
       "\"t\""},
      {"three offsets", one("\"U8\"", "[1]", "[0,1,1]", 1), "two numbers"},
      {"65 axes",
       one(
           "\"U8\"",
           "[1" +
               [] {
                 std::string s;
                 for (int i = 0; i < 64; ++i) s += ",1";
                 return s;
               }() +
               "]",
           "[0,1]", 1),
       "65 axes"},
      {"past the end", one("\"U8\"", "[5]", "[0,5]", 4), "cut short"},
      {"hole at the start", one("\"U8\"", "[4]", "[1,5]", 5), "hole"},
      {"left over", one("\"U8\"", "[4]", "[0,4]", 5), "belong to no tensor"},
      {"overlap", file_of(two_places + "[3,7]}}", "1234567"), "overlaps"},
      {"the same place", file_of(two_places + "[0,4]}}", "1234"), "overlaps"},
      {"hole between", file_of(two_places + "[5,9]}}", "123456789"), "hole"},
      {"name twice",
       file_of("{" + entry("\"U8\"", "[1]", "[0,1]") + "," + entry("\"U8\"", "[1]", "[1,2]") + "}",
               "12"),
       "\"t\""},
      {"key twice",
       file_of(R"({"t":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "1"),
       "dtype"},
      {"five million values", file_of("{\"a\":[0" + std::string(5'000'000, ',') + "]}", ""),
       "values"},
  };
  for (const BadFile& file : files) {
    CAPTURE(file.what);
    const auto fault = fault_of([&] { parse(file.content); });
    REQUIRE(fault);
    CHECK(fault->code == file.code);
    CHECK_MESSAGE(fault->mentions("test.safetensors"), fault->message);
    CHECK_MESSAGE(fault->mentions(file.mentions), fault->message);
  }
}

TEST_CASE("files that are no files") {
  const TempFolder folder;
  CHECK(fault_of([&] { SafetensorsFile::open(folder / "none"); })->code == ErrorCode::not_found);
  CHECK(fault_of([&] { SafetensorsFile::open(folder.path()); })->code == ErrorCode::io);
}

}  // namespace linnet
