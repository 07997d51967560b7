#include "native/packed_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "kernels/matrix_format_text.h"

namespace linnet {
namespace {

constexpr std::string_view kMagic = "LINNETPK";
constexpr std::uint32_t kLayoutVersion = 1;  // of this file and of the strips
constexpr std::uint64_t kAlignment = 4096;
constexpr std::uint64_t kHeadBytes = 32;
constexpr std::uint64_t kMostHeader = std::uint64_t{64} << 20;
constexpr std::string_view kVector = "vector";

std::uint64_t padded(std::uint64_t bytes) {
  return checked_add(bytes, kAlignment - 1, "packed model") / kAlignment * kAlignment;
}

// Of a matrix with that many inputs.
std::optional<MatrixFormat> format_named(std::string_view name, std::int64_t inputs) {
  const auto format = matrix_format_of(name);
  const bool is_grouped = format && format->kind == PackedFormat::grouped;
  return is_grouped && inputs % span_inputs(format->grouped) != 0 ? std::nullopt : format;
}

std::uint64_t parse_checksum(const std::string& text, const std::string& name) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, 16);
  if (text.size() != 16 || result.ec != std::errc() || result.ptr != end) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: checksum: expected 16 hexadecimal digits, found {}", name,
                     json_quote(text)));
  }
  return value;
}

// The bytes before the data, and where that begins.
std::string head_of(const Json& header) {
  std::string json = header.dump();
  json.resize(padded(kHeadBytes + json.size()) - kHeadBytes, ' ');
  std::string head(kMagic);
  const auto put = [&](auto value) {
    head.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(kLayoutVersion);
  put(std::uint32_t{0});
  put(std::uint64_t{kHeadBytes + json.size()});
  put(checksum64(as_bytes(json)));
  return head + json;
}

std::vector<std::uint64_t> checksums_of(const std::vector<PackedPart>& parts, ThreadPool& pool) {
  std::vector<std::uint64_t> checksums(parts.size());
  pool.parallel_for(static_cast<std::int64_t>(parts.size()), 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) {
                        const auto at = static_cast<std::size_t>(i);
                        checksums[at] = checksum64(parts[at].bytes);
                      }
                    });
  return checksums;
}

}  // namespace

void PackedModel::corrupt(std::string_view what) const {
  fail(ErrorCode::corrupt_file,
       fmt::format("{}: {}; pack the model again (linnet pack)", name_, what));
}

std::shared_ptr<const PackedModel> PackedModel::open(const std::filesystem::path& path,
                                                     FileAccess access) {
  std::shared_ptr<PackedModel> model(new PackedModel());
  model->file_ = FileMap::open(path, access);
  model->name_ = path.string();
  const Bytes file = model->file_->bytes();
  ByteReader reader(file, model->name_);
  if (as_text(reader.take(kMagic.size(), "magic")) != kMagic) {
    model->corrupt("not a packed model: it does not begin with LINNETPK");
  }
  const auto version = reader.read<std::uint32_t>("layout version");
  if (version != kLayoutVersion) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: version {} of the packed layout, this Linnet reads version {}; pack the "
                     "model again (linnet pack)",
                     model->name_, version, kLayoutVersion));
  }
  if (reader.read<std::uint32_t>("reserved") != 0) model->corrupt("bytes 12 to 15 are not zero");
  const auto begin = reader.read<std::uint64_t>("start of the data");
  const auto checksum = reader.read<std::uint64_t>("checksum of the header");
  if (begin % kAlignment != 0 || begin < kHeadBytes || begin > kMostHeader || begin > file.size()) {
    model->corrupt(fmt::format("the header cannot end at byte {} of {}", begin, file.size()));
  }
  const Bytes json = reader.take(begin - kHeadBytes, "header");
  if (checksum64(json) != checksum) model->corrupt("the header is damaged (its checksum differs)");
  model->read_header(Json::parse(as_text(json), model->name_), begin);
  return model;
}

void PackedModel::read_header(const Json& header, std::uint64_t begin) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  config_ = header.at("config");
  const Bytes file = file_->bytes();
  std::uint64_t next = begin;
  for (const Json& item : header.at("parts").as_array("parts")) {
    PackedPart part;
    part.name = item.at("name").as_string("name");
    const auto number = [&](std::string_view key, std::int64_t most) {
      return item.at(key).as_int_in(0, most, fmt::format("{}: {}: {}", name_, part.name, key));
    };
    part.format = item.at("format").as_string("format");
    part.outputs = number("outputs", kMost);
    part.inputs = number("inputs", kMost);
    const auto bytes = static_cast<std::uint64_t>(number("bytes", INT64_MAX));
    const std::uint64_t extent = padded(bytes);
    if (extent > file.size() - next) {
      corrupt(
          fmt::format("{}: {} bytes at {} do not fit the file of {} bytes, which may be cut "
                      "short",
                      part.name, extent, next, file.size()));
    }
    part.bytes = file.subspan(next, bytes);
    const Bytes filling = file.subspan(next + bytes, extent - bytes);
    if (std::any_of(filling.begin(), filling.end(),
                    [](std::byte b) { return b != std::byte{0}; })) {
      corrupt(fmt::format("the bytes behind {} are not zero", part.name));
    }
    checksums_.push_back(parse_checksum(item.at("checksum").as_string("checksum"), name_));
    if (!index_.emplace(part.name, parts_.size()).second) {
      corrupt(fmt::format("{}: comes twice", part.name));
    }
    parts_.push_back(std::move(part));
    next += extent;
  }
  if (next != file.size()) {
    corrupt(fmt::format("{} bytes behind the last part", file.size() - next));
  }
}

void PackedModel::verify(ThreadPool& pool) const {
  const std::vector<std::uint64_t> found = checksums_of(parts_, pool);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (found[i] == checksums_[i]) continue;
    corrupt(fmt::format("{} is damaged (its checksum differs)", parts_[i].name));
  }
}

const PackedPart& PackedModel::require(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) {
    corrupt(fmt::format("there is no part {}, which config.json asks for", json_quote(name)));
  }
  return parts_[found->second];
}

PackedMatrix PackedModel::matrix(const std::string& name, std::int64_t outputs,
                                 std::int64_t inputs) const {
  const PackedPart& part = require(name);
  const auto format = format_named(part.format, inputs);
  if (!format)
    corrupt(fmt::format("{}: no format {} for {} inputs", name, json_quote(part.format), inputs));
  const PackedShape shape = packed_shape(*format, outputs, inputs);
  if (part.outputs != outputs || part.inputs != inputs || part.bytes.size() != shape.bytes()) {
    corrupt(fmt::format("{}: {} [{}, {}] in {} bytes, but config.json asks for [{}, {}] in {}",
                        name, part.format, part.outputs, part.inputs, part.bytes.size(), outputs,
                        inputs, shape.bytes()));
  }
  return PackedMatrix::over(shape, part.bytes.data(), file_);
}

std::vector<float> PackedModel::vector(const std::string& name, std::int64_t count) const {
  const PackedPart& part = require(name);
  const auto bytes = static_cast<std::uint64_t>(count) * sizeof(float);
  if (part.format != kVector || part.outputs != count || part.bytes.size() != bytes) {
    corrupt(fmt::format("{}: {} of {} in {} bytes, but config.json asks for a vector of {}", name,
                        part.format, part.outputs, part.bytes.size(), count));
  }
  std::vector<float> values(static_cast<std::size_t>(count));
  if (bytes > 0) std::memcpy(values.data(), part.bytes.data(), bytes);
  return values;
}

void write_packed_model(const std::filesystem::path& path, const Json& config,
                        const std::vector<PackedPart>& parts, ThreadPool& pool,
                        const std::function<void(double)>& on_progress) {
  const std::vector<std::uint64_t> checksums = checksums_of(parts, pool);
  Json items = Json::array();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Json item = Json::object();
    item.set("name", parts[i].name);
    item.set("format", parts[i].format);
    item.set("outputs", parts[i].outputs);
    item.set("inputs", parts[i].inputs);
    item.set("bytes", parts[i].bytes.size());
    item.set("checksum", fmt::format("{:016x}", checksums[i]));
    items.push_back(std::move(item));
    total += padded(parts[i].bytes.size());
  }
  Json header = Json::object();
  header.set("config", config);
  header.set("parts", std::move(items));
  const std::string head = head_of(header);
  AtomicFile file(path);
  file.reserve(head.size() + total);
  file.write(as_bytes(head));
  for (const PackedPart& part : parts) {
    constexpr std::size_t kPiece = std::size_t{16} << 20;
    for (Bytes left = part.bytes; !left.empty();) {
      const Bytes piece = left.first(std::min(kPiece, left.size()));
      file.write(piece);
      left = left.subspan(piece.size());
      if (on_progress) on_progress(static_cast<double>(file.size()) / static_cast<double>(total));
    }
    file.write_zeros(padded(part.bytes.size()) - part.bytes.size());
  }
  file.commit();
}

}  // namespace linnet
