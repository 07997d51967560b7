#include "formats/gguf.h"

#include <doctest/doctest.h>

#include "formats/fault.h"
#include "formats/gguf_builder.h"

namespace linnet {
namespace {

std::shared_ptr<const GgufFile> parse(const std::string& content) {
  auto owner = std::make_shared<std::string>(content);
  const Bytes bytes = as_bytes(*owner);
  return GgufFile::from_bytes(bytes, "test.gguf", std::move(owner));
}

std::string floats(std::initializer_list<float> values) {
  std::string bytes;
  for (const float value : values) bytes += raw(value);
  return bytes;
}

GgufBuilder one_tensor(std::uint32_t type, const std::vector<std::uint64_t>& dimensions,
                       const std::string& data) {
  GgufBuilder builder;
  builder.tensor("t", dimensions, type, data);
  return builder;
}

}  // namespace

TEST_CASE("metadata of every type, in versions 2 and 3") {
  for (const std::uint32_t version : {2u, 3u}) {
    GgufBuilder builder;
    builder.version = version;
    builder.key("u8", 0, raw<std::uint8_t>(200)).key("i8", 1, raw<std::int8_t>(-3));
    builder.key("u16", 2, raw<std::uint16_t>(65535)).key("i16", 3, raw<std::int16_t>(-300));
    builder.key("u32", 4, raw<std::uint32_t>(4000000000u)).key("i32", 5, raw<std::int32_t>(-70000));
    builder.key("f32", 6, raw(0.5f)).key("yes", 7, "\1").key("no", 7, std::string(1, '\0'));
    builder.text("text", "h\xc3\xa9").key("u64", 10, raw<std::uint64_t>(1ull << 40));
    builder.key("i64", 11, raw<std::int64_t>(-(1ll << 40))).key("f64", 12, raw(0.1));
    builder.texts("texts", {"a", "", "bc"}).texts("none", {});
    builder.key("ints", 9,
                raw<std::uint32_t>(5) + raw<std::uint64_t>(2) + raw<std::int32_t>(4) +
                    raw<std::int32_t>(-4));
    builder.key("reals", 9, raw<std::uint32_t>(6) + raw<std::uint64_t>(1) + raw(1.5f));
    const auto file = parse(builder.build());
    CHECK(file->at("u8").as_int() == 200);
    CHECK(file->at("i8").as_int() == -3);
    CHECK(file->at("u16").as_int() == 65535);
    CHECK(file->at("i16").as_int() == -300);
    CHECK(file->at("u32").as_int() == 4000000000);
    CHECK(file->at("i32").as_int() == -70000);
    CHECK(file->at("u64").as_int() == std::int64_t{1} << 40);
    CHECK(file->at("i64").as_int() == -(std::int64_t{1} << 40));
    CHECK(file->at("f32").as_double() == 0.5);
    CHECK(file->at("f64").as_double() == 0.1);
    CHECK(file->at("i8").as_double() == -3);
    CHECK(file->at("yes").as_bool());
    CHECK_FALSE(file->at("no").as_bool());
    CHECK(file->at("text").as_string() == "h\xc3\xa9");
    CHECK(file->at("texts").as_strings() == std::vector<std::string_view>{"a", "", "bc"});
    CHECK(file->at("texts").count() == 3);
    CHECK(file->at("none").as_strings().empty());
    CHECK(file->at("ints").as_ints() == std::vector<std::int64_t>{4, -4});
    CHECK(file->at("ints").as_doubles() == std::vector<double>{4, -4});
    CHECK(file->at("reals").as_doubles() == std::vector<double>{1.5});
    CHECK(file->find("other") == nullptr);
    CHECK(file->tensors().empty());
  }
}

TEST_CASE("a value of another type is an error with file and key") {
  GgufBuilder builder;
  builder.number("n", 7).text("s", "7").texts("a", {"7"}).real("r", 7).key("b", 7, "\1");
  builder.key("big", 10, raw(~std::uint64_t{0}));
  const auto file = parse(builder.build());
  const auto check = [](const std::optional<Fault>& fault, const char* key) {
    REQUIRE(fault);
    CHECK(fault->code == ErrorCode::corrupt_file);
    CHECK_MESSAGE(fault->mentions(std::string("test.gguf: key ") + key), fault->message);
  };
  check(fault_of([&] { file->at("s").as_int(); }), "s");
  check(fault_of([&] { file->at("r").as_int(); }), "r");
  check(fault_of([&] { file->at("b").as_int(); }), "b");
  check(fault_of([&] { file->at("big").as_int(); }), "big");
  check(fault_of([&] { file->at("a").as_string(); }), "a");
  check(fault_of([&] { file->at("n").as_string(); }), "n");
  check(fault_of([&] { file->at("n").as_bool(); }), "n");
  check(fault_of([&] { file->at("s").as_double(); }), "s");
  // The token array of the wrong type, read as numbers: a known hole elsewhere.
  check(fault_of([&] { file->at("a").as_ints(); }), "a");
  check(fault_of([&] { file->at("a").as_doubles(); }), "a");
  check(fault_of([&] { file->at("n").as_strings(); }), "n");
  check(fault_of([&] { file->at("n").as_int_in(8, 9); }), "n");
  const auto missing = fault_of([&] { file->at("llama.block_count"); });
  REQUIRE(missing);
  CHECK(missing->mentions("llama.block_count"));
}

TEST_CASE("tensors have our axis order and lie where the file says") {
  GgufBuilder builder;
  builder.tensor("a", {3, 2}, 0, floats({1, 2, 3, 4, 5, 6}));
  builder.tensor("b", {32}, 2, raw<std::uint16_t>(0x3c00) + std::string(16, '\x99'));
  const auto file = parse(builder.build());
  CHECK(file->tensor("a").shape() == Shape{2, 3});
  CHECK(file->tensor("a").to_floats() == std::vector<float>{1, 2, 3, 4, 5, 6});
  // Ends exactly at the end of the file.
  CHECK(file->tensor("b").to_floats() == std::vector<float>(32, 1.0f));
  CHECK(gguf_type_name(file->find_tensor("b")->dtype) == "Q4_0");
  CHECK(fault_of([&] { file->tensor("c"); })->code == ErrorCode::not_found);
  CHECK(parse(builder.build() + std::string(100, 'x'))->tensor("a").to_floats()[5] == 6);
}

TEST_CASE("alignment is taken from the file") {
  for (const std::uint32_t alignment : {1u, 2u, 8u, 64u, 65536u}) {
    GgufBuilder builder;
    builder.alignment = alignment;
    builder.number("general.alignment", alignment);
    builder.tensor("a", {1}, 24, "x").tensor("b", {1}, 0, floats({2.5f}));
    const auto file = parse(builder.build());
    CHECK(file->tensor("b").values<float>()[0] == 2.5f);
    CHECK(reinterpret_cast<std::uintptr_t>(file->tensor("b").bytes().data()) % 4 == 0);
  }
}

TEST_CASE("every supported type is loaded when its last block ends the file") {
  for (const std::uint32_t id : {0u,  1u,  2u,  3u,  6u,  7u,  8u,  10u, 11u, 12u, 13u,
                                 14u, 20u, 23u, 24u, 25u, 26u, 27u, 28u, 30u, 39u}) {
    CAPTURE(id);
    // 256 values of any type; too long by far, then cut to what the type takes.
    const std::string content = one_tensor(id, {256}, std::string(4096, '\0')).build();
    const auto size = parse(content)->tensor("t").bytes().size();
    const std::string exact = content.substr(0, content.size() - 4096 + size);
    CHECK(parse(exact)->tensor("t").elements() == 256);
    const auto fault = fault_of([&] { parse(exact.substr(0, exact.size() - 1)); });
    REQUIRE(fault);
    CHECK(fault->mentions("not within the file"));
  }
}

TEST_CASE("bad files are refused with what is wrong") {
  struct BadFile {
    const char* what;
    std::string content;
    const char* mentions;
    ErrorCode code = ErrorCode::corrupt_file;
  };
  const auto with_version = [](std::uint32_t version) {
    GgufBuilder builder;
    builder.version = version;
    return builder.build();
  };
  const auto with_key = [](std::string_view name, std::uint32_t type, const std::string& value) {
    return GgufBuilder().key(name, type, value).build();
  };
  const auto array_of = [](std::uint32_t type, std::uint64_t count) {
    return raw(type) + raw(count);
  };
  const std::string counts_start = "GGUF" + raw<std::uint32_t>(3);
  const std::uint64_t huge = std::uint64_t{1} << 63;
  const std::string four(4, '\0');
  GgufBuilder ggml;
  ggml.magic = "GGML";
  GgufBuilder overlap;
  overlap.tensor_at("a", {16}, 0, 0, std::string(64, '\0')).tensor_at("b", {8}, 0, 32, "");
  const BadFile files[] = {
      {"empty", "", "magic"},
      {"other magic", ggml.build(), "magic"},
      {"version 1", with_version(1), "version 1", ErrorCode::unsupported},
      {"version 4", with_version(4), "version 4", ErrorCode::unsupported},
      {"big endian", with_version(0x03000000), "big-endian", ErrorCode::unsupported},
      {"huge tensor count",
       counts_start + raw(huge) + raw<std::uint64_t>(0) + std::string(1000, '\0'), "tensor count"},
      {"huge key count", counts_start + raw<std::uint64_t>(0) + raw(huge) + std::string(1000, '\0'),
       "key count"},
      {"key count just too large",
       counts_start + raw<std::uint64_t>(0) + raw<std::uint64_t>(2) + std::string(25, '\0'),
       "key count"},
      {"key length",
       counts_start + raw<std::uint64_t>(0) + raw<std::uint64_t>(1) + raw(huge / 2) +
           std::string(20, 'k'),
       "key"},
      {"key of 70000 bytes", with_key(std::string(70000, 'k'), 4, four), "70000"},
      {"empty key", with_key("", 4, four), "key"},
      {"key is not text", with_key("a\xff", 4, four), "ASCII"},
      {"key twice", GgufBuilder().number("k", 1).number("k", 2).build(), "key k: stands twice"},
      {"unknown value type", with_key("k", 13, four), "type 13"},
      {"boolean of 2", with_key("k", 7, "\2"), "key k"},
      {"string too long", with_key("k", 8, raw(~std::uint64_t{0})), "key k"},
      {"array of arrays", with_key("k", 9, array_of(9, 1) + array_of(4, 0)), "arrays in arrays"},
      {"array of unknown", with_key("k", 9, array_of(77, 1) + four), "type 77"},
      {"array count overflows", with_key("k", 9, array_of(10, std::uint64_t{1} << 61) + four),
       "key k"},
      {"array of bytes too long", with_key("k", 9, array_of(0, 5) + four), "key k"},
      {"array of strings too long", with_key("k", 9, array_of(8, 2) + raw_text("a")), "key k"},
      {"alignment 0", GgufBuilder().number("general.alignment", 0).build(), "general.alignment"},
      {"alignment 3", GgufBuilder().number("general.alignment", 3).build(), "general.alignment"},
      {"alignment 2^31", GgufBuilder().number("general.alignment", 1u << 31).build(),
       "general.alignment"},
      {"alignment text", GgufBuilder().text("general.alignment", "32").build(),
       "general.alignment"},
      {"five axes", one_tensor(0, {1, 1, 1, 1, 1}, four).build(), "5 dimensions"},
      {"axis 0", one_tensor(0, {4, 0}, four).build(), "\"t\""},
      {"axis 2^63", one_tensor(0, {huge}, four).build(), "\"t\""},
      {"product wraps",
       one_tensor(0, {std::uint64_t{1} << 33, std::uint64_t{1} << 33}, four).build(), "\"t\""},
      {"bytes wrap", one_tensor(0, {std::uint64_t{1} << 62}, four).build(), "\"t\""},
      {"rows not of blocks", one_tensor(2, {33}, std::string(36, '\0')).build(), "multiple of 32"},
      {"type 999", one_tensor(999, {1}, four).build(), "999", ErrorCode::unsupported},
      {"removed type", one_tensor(4, {32}, std::string(32, '\0')).build(), "Q4_2",
       ErrorCode::unsupported},
      {"type not read", one_tensor(16, {256}, std::string(66, '\0')).build(), "IQ2_XXS",
       ErrorCode::unsupported},
      {"name twice", GgufBuilder().tensor("t", {1}, 0, four).tensor("t", {1}, 0, four).build(),
       "twice"},
      {"offset unaligned", GgufBuilder().tensor_at("t", {1}, 0, 4, std::string(8, '\0')).build(),
       "alignment"},
      {"offset past the end", GgufBuilder().tensor_at("t", {1}, 0, 32, four).build(),
       "not within the file"},
      {"offset 2^63", GgufBuilder().tensor_at("t", {1}, 0, huge, four).build(),
       "not within the file"},
      {"offset wraps", GgufBuilder().tensor_at("t", {8}, 0, ~std::uint64_t{31}, four).build(),
       "not within the file"},
      {"overlap", overlap.build(), "overlaps"},
  };
  for (const BadFile& file : files) {
    CAPTURE(file.what);
    const auto fault = fault_of([&] { parse(file.content); });
    REQUIRE(fault);
    CHECK(fault->code == file.code);
    CHECK_MESSAGE(fault->mentions("test.gguf"), fault->message);
    CHECK_MESSAGE(fault->mentions(file.mentions), fault->message);
  }
}

}  // namespace linnet
