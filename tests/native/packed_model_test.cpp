// Packed files: damage anywhere, and sizes that lie, are found and named.
#include "native/packed_model.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checksum.h"
#include "base/error.h"

using namespace linnet;

namespace {

// A file of its own, removed at the end.
class PackedFile {
 public:
  PackedFile() {
    std::string name = (std::filesystem::temp_directory_path() / "linnet-pack-XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    REQUIRE(fd >= 0);
    ::close(fd);
    path_ = name;
  }
  ~PackedFile() { std::filesystem::remove(path_); }
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string read() const { return read_text_file(path_); }
  void write(const std::string& content) const { write_file_atomically(path_, as_bytes(content)); }
  // What opening and reading everything says; empty when all is well.
  std::string fault() const {
    try {
      ThreadPool pool(2);
      const auto model = PackedModel::open(path_);
      model->verify(pool);
    } catch (const Error& error) {
      CHECK((error.code() == ErrorCode::corrupt_file || error.code() == ErrorCode::unsupported));
      return error.what();
    }
    return "";
  }

 private:
  std::filesystem::path path_;
};

PackedMatrix some_matrix(PackedFormat format, std::int64_t outputs, std::int64_t inputs) {
  ThreadPool pool(1);
  std::vector<std::int64_t> order(static_cast<std::size_t>(outputs));
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](std::int64_t row, std::int64_t k) {
    return static_cast<float>((row * 31 + k * 7) % 97) - 48.0f;
  };
  return PackedMatrix::pack(
      format, order, inputs,
      [&](std::int64_t row, float* out) {
        for (std::int64_t k = 0; k < inputs; ++k) out[k] = value(row, k);
      },
      pool);
}

PackedPart part_of(const std::string& name, const PackedMatrix& matrix, std::int64_t outputs,
                   std::int64_t inputs) {
  return {name,           std::string(packed_format_name(matrix.shape().format)),
          outputs,        inputs,
          matrix.bytes(), matrix.owner()};
}

// Two matrices and a vector, none of which fills its last page.
std::vector<PackedPart> some_parts() {
  static const std::vector<float> vector = {1, 2, 3};
  return {part_of("a", some_matrix(PackedFormat::n4, 40, 72), 40, 72),
          {"v", "vector", 3, 1, std::as_bytes(std::span(vector))},
          part_of("b", some_matrix(PackedFormat::i8, 64, 64), 64, 64)};
}

void write_some(const PackedFile& file, const std::vector<PackedPart>& parts = some_parts()) {
  ThreadPool pool(2);
  Json config = Json::object();
  config.set("model_type", "llama");
  write_packed_model(file.path(), config, parts, pool);
}

// A file with this header, whose checksum is right, and so many bytes of data.
std::string with_header(const std::string& json, std::size_t data) {
  constexpr std::size_t kPage = 4096, kHead = 32;
  std::string header = json;
  header.resize((kHead + json.size() + kPage - 1) / kPage * kPage - kHead, ' ');
  std::string head = "LINNETPK";
  const std::uint32_t numbers[] = {1, 0};
  const std::uint64_t places[] = {kHead + header.size(), checksum64(as_bytes(header))};
  head.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  head.append(reinterpret_cast<const char*>(places), sizeof places);
  return head + header + std::string(data, '\0');
}

}  // namespace

TEST_CASE("what was written is read, in place") {
  const PackedFile file;
  write_some(file);
  CHECK(file.fault().empty());
  const auto model = PackedModel::open(file.path());
  CHECK(model->config().at("model_type") == Json("llama"));
  CHECK(model->vector("v", 3) == std::vector<float>{1, 2, 3});
  const auto parts = some_parts();
  const PackedMatrix a = model->matrix("a", 40, 72);
  CHECK(std::ranges::equal(a.bytes(), parts[0].bytes));
  CHECK(std::ranges::equal(model->matrix("b", 64, 64).bytes(), parts[2].bytes));
  CHECK(reinterpret_cast<std::uintptr_t>(a.strips()) % 4096 == 0);
}

TEST_CASE("a matrix outlives the model that it came from") {
  const PackedFile file;
  write_some(file);
  const PackedMatrix a = PackedModel::open(file.path())->matrix("a", 40, 72);
  CHECK(std::ranges::equal(a.bytes(), some_parts()[0].bytes));
}

TEST_CASE("one flipped bit anywhere is found") {
  const PackedFile file;
  write_some(file);
  const std::string whole = file.read();
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < 600; ++i) places.push_back(i);  // the head and the JSON
  for (std::size_t i = 600; i < whole.size(); i += 61) places.push_back(i);
  for (std::size_t page = 4096; page < whole.size(); page += 4096) {
    places.insert(places.end(), {page - 1, page});
  }
  std::size_t missed = 0;
  for (const std::size_t place : places) {
    std::string flipped = whole;
    flipped[place] = static_cast<char>(flipped[place] ^ (1 << place % 8));
    file.write(flipped);
    missed += file.fault().empty();
  }
  CHECK(missed == 0);
}

TEST_CASE("damage is told by part, other versions by number") {
  const PackedFile file;
  write_some(file);
  const std::string whole = file.read();
  const auto fault_with = [&](std::size_t place, char value) {
    std::string changed = whole;
    changed[place] = value;
    file.write(changed);
    return file.fault();
  };
  CHECK(fault_with(4096 + 5, whole[4096 + 5] ^ 1).find("a is damaged") != std::string::npos);
  CHECK(fault_with(8, 9).find("version 9 of the packed layout") != std::string::npos);
  CHECK(fault_with(0, 'M').find("LINNETPK") != std::string::npos);
  CHECK(fault_with(40, '#').find("the header is damaged") != std::string::npos);
}

TEST_CASE("a file cut anywhere is refused") {
  const PackedFile file;
  write_some(file);
  const std::string whole = file.read();
  std::vector<std::size_t> sizes = {0, 1, 8, 12, 16, 24, 31, 32, 33, whole.size() - 1};
  for (std::size_t page = 4096; page < whole.size(); page += 4096) {
    sizes.insert(sizes.end(), {page - 1, page, page + 1});
  }
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    file.write(whole.substr(0, size));
    CHECK_FALSE(file.fault().empty());
  }
  file.write(whole + std::string(4096, '\0'));
  CHECK(file.fault().find("behind the last part") != std::string::npos);
}

TEST_CASE("headers that lie are refused, whatever their checksum says") {
  const PackedFile file;
  const auto item = [](const std::string& name, const std::string& bytes,
                       const std::string& rest = "") {
    return R"({"name": ")" + name +
           R"(", "format": "f32", "outputs": 32, "inputs": 32, "checksum": "0000000000000000", )" +
           R"("bytes": )" + bytes + rest + "}";
  };
  const auto parts = [](const std::string& items) {
    return R"({"config": {}, "parts": [)" + items + "]}";
  };
  for (const std::string& json :
       {parts(item("a", "9223372036854775807")), parts(item("a", "9223372036854771712")),
        parts(item("a", "-1")), parts(item("a", "8193")), parts(item("a", "1e300")),
        parts(item("a", "4096") + "," + item("a", "4096")), parts(item("a", "\"many\"")),
        parts("7"), parts("{}"), std::string(R"({"config": {}})"), std::string("[1]"),
        std::string("{"), std::string(5000, '[')}) {
    CAPTURE(json.substr(0, 200));
    file.write(with_header(json, 8192));
    const auto open = [&] { PackedModel::open(file.path()); };
    CHECK_THROWS_AS(open(), Error);
  }
  file.write(with_header(parts(item("a", "4096") + "," + item("b", "4096")), 8192));
  const auto model = PackedModel::open(file.path());
  CHECK_THROWS_WITH_AS(model->matrix("a", 64, 32), doctest::Contains("but config.json asks for"),
                       Error);
  CHECK_THROWS_WITH_AS(model->matrix("c", 32, 32), doctest::Contains("there is no part \"c\""),
                       Error);
  CHECK_THROWS_WITH_AS(model->vector("a", 32), doctest::Contains("asks for a vector"), Error);
}
