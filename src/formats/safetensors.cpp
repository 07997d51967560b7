#include "formats/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/json.h"

namespace linnet {
namespace {

// The reference reader's cap.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
// Bounds what a hostile header can make of its bytes in memory; a tensor needs about eight.
constexpr std::int64_t kMaxHeaderValues = 4'000'000;
constexpr std::size_t kMaxAxes = 64;

struct TypeName {
  std::string_view name;
  std::optional<DType> dtype;  // none: belongs to the format, but is not read here
};
constexpr TypeName kTypeNames[] = {
    {"F32", DType::f32},
    {"BF16", DType::bf16},
    {"F16", DType::f16},
    {"F64", DType::f64},
    {"I8", DType::i8},
    {"U8", DType::u8},
    {"I16", DType::i16},
    {"U16", DType::u16},
    {"I32", DType::i32},
    {"U32", DType::u32},
    {"I64", DType::i64},
    {"U64", DType::u64},
    {"BOOL", DType::boolean},
    {"F4", std::nullopt},
    {"F6_E2M3", std::nullopt},
    {"F6_E3M2", std::nullopt},
    {"F8_E4M3", std::nullopt},
    {"F8_E5M2", std::nullopt},
    {"F8_E8M0", std::nullopt},
    {"F8_E4M3FNUZ", std::nullopt},
    {"F8_E5M2FNUZ", std::nullopt},
    {"C64", std::nullopt},
};

[[noreturn]] void corrupt(const std::string& what, const std::string& reason) {
  fail(ErrorCode::corrupt_file, fmt::format("{}: {}", what, reason));
}

struct Entry {
  TensorInfo info;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The header's bytes. They lie in the file, so nothing is allocated before they are checked.
std::string_view header_text(ByteReader& reader) {
  const std::string& file = reader.name();
  if (reader.size() < 8) {
    corrupt(file, fmt::format("not a safetensors file: {} bytes, but the header length alone has 8",
                              reader.size()));
  }
  const auto length = reader.read<std::uint64_t>("header length");
  if (length > reader.remaining()) {
    corrupt(file, fmt::format("the header claims {} bytes, but {} follow (cut short?)", length,
                              reader.remaining()));
  }
  if (length > kMaxHeaderBytes) {
    corrupt(file,
            fmt::format("a header of {} bytes; at most {} are allowed", length, kMaxHeaderBytes));
  }
  const std::string_view text = as_text(reader.take(length, "header"));
  if (text.empty() || text[0] != '{') {
    corrupt(file, "the header is not a JSON object (it must start with \"{\")");
  }
  const auto values = std::count_if(text.begin(), text.end(),
                                    [](char c) { return c == ',' || c == '[' || c == '{'; });
  if (values > kMaxHeaderValues) {
    corrupt(file, fmt::format("the header has more than {} values", kMaxHeaderValues));
  }
  return text;
}

Json parse_header(std::string_view text, const std::string& file) {
  try {
    return Json::parse(text, file + ": header");
  } catch (const Error& error) {
    fail(ErrorCode::corrupt_file, error.what());
  }
}

std::uint64_t as_size(const Json& value, const std::string& what, std::string_view field) {
  if (!value.is_int() || value.as_int() < 0) {
    corrupt(what, fmt::format("{} holds {}, expected whole numbers from 0 to 2^63 - 1", field,
                              value.is_number() ? value.dump() : std::string(value.type_name())));
  }
  return static_cast<std::uint64_t>(value.as_int());
}

const Json::Array& member_list(const Json& value, const std::string& what, std::string_view field) {
  const Json* list = value.find(field);
  if (list == nullptr || !list->is_array()) corrupt(what, fmt::format("{} must be a list", field));
  return list->as_array();
}

DType parse_dtype(const Json& value, const std::string& what) {
  const Json* dtype = value.find("dtype");
  if (dtype == nullptr || !dtype->is_string()) corrupt(what, "dtype must be a string");
  for (const TypeName& type : kTypeNames) {
    if (type.name != dtype->as_string()) continue;
    if (type.dtype) return *type.dtype;
    fail(ErrorCode::unsupported,
         fmt::format("{}: dtype {} is not supported; convert it to BF16, F16 or F32", what,
                     type.name));
  }
  corrupt(what, fmt::format("unknown dtype {}", dtype->dump()));
}

Entry parse_entry(const std::string& name, const Json& value, const std::string& file) {
  const std::string what = fmt::format("{}: tensor {}", file, json_quote(name));
  if (!value.is_object()) corrupt(what, "its entry must be an object");
  Entry entry;
  entry.info.name = name;
  entry.info.dtype = parse_dtype(value, what);
  const Json::Array& shape = member_list(value, what, "shape");
  if (shape.size() > kMaxAxes) corrupt(what, fmt::format("{} axes in its shape", shape.size()));
  for (const Json& axis : shape) {
    entry.info.shape.push_back(static_cast<std::int64_t>(as_size(axis, what, "shape")));
  }
  const Json::Array& offsets = member_list(value, what, "data_offsets");
  if (offsets.size() != 2) corrupt(what, "data_offsets must hold two numbers");
  entry.begin = as_size(offsets[0], what, "data_offsets");
  entry.end = as_size(offsets[1], what, "data_offsets");
  if (entry.begin > entry.end) {
    corrupt(what,
            fmt::format("its data ends at {}, before it begins at {}", entry.end, entry.begin));
  }
  const std::uint64_t bytes = tensor_bytes(entry.info.dtype, entry.info.shape, what);
  if (bytes != entry.end - entry.begin) {
    corrupt(what, fmt::format("{} {} needs {} bytes, but data_offsets span {}",
                              safetensors_dtype_name(entry.info.dtype),
                              shape_text(entry.info.shape), bytes, entry.end - entry.begin));
  }
  return entry;
}

std::map<std::string, std::string> parse_metadata(const Json& value, const std::string& file) {
  std::map<std::string, std::string> metadata;
  if (!value.is_object()) corrupt(file, "__metadata__ must be an object of strings");
  for (const auto& [key, text] : value.as_object()) {
    if (!text.is_string())
      corrupt(file, fmt::format("__metadata__: {} is no string", json_quote(key)));
    metadata.emplace(key, text.as_string());
  }
  return metadata;
}

// Sorts by place, then demands that every byte of the data belongs to exactly one tensor.
void check_cover(std::vector<Entry>& entries, std::uint64_t data_bytes, const std::string& file) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  std::string before = "the start";
  for (const Entry& entry : entries) {
    const std::string what = fmt::format("{}: tensor {}", file, json_quote(entry.info.name));
    if (entry.end > data_bytes) {
      corrupt(what,
              fmt::format("its data ends at {}, but the file has {} bytes of data (cut short?)",
                          entry.end, data_bytes));
    }
    if (entry.begin != covered) {
      corrupt(what, fmt::format("its data {} {}: it begins at {}, expected {}",
                                entry.begin < covered ? "overlaps" : "leaves a hole behind", before,
                                entry.begin, covered));
    }
    covered = entry.end;
    before = json_quote(entry.info.name);
  }
  if (covered != data_bytes) {
    corrupt(file, fmt::format("{} bytes after the last tensor ({}) belong to no tensor",
                              data_bytes - covered, before));
  }
}

}  // namespace

std::string_view safetensors_dtype_name(DType dtype) {
  for (const TypeName& type : kTypeNames) {
    if (type.dtype == dtype) return type.name;
  }
  fail(ErrorCode::unsupported,
       fmt::format("safetensors files cannot hold the type {}", dtype_name(dtype)));
}

std::shared_ptr<const SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path,
                                                             FileAccess access) {
  auto map = FileMap::open(path, access);
  const Bytes bytes = map->bytes();
  return from_bytes(bytes, path.string(), std::move(map));
}

std::shared_ptr<const SafetensorsFile> SafetensorsFile::from_bytes(
    Bytes bytes, const std::string& name, std::shared_ptr<const void> owner) {
  ByteReader reader(bytes, name);
  const Json header = parse_header(header_text(reader), name);
  const Bytes data = bytes.subspan(reader.offset());
  std::shared_ptr<SafetensorsFile> file(new SafetensorsFile());
  file->name_ = name;
  file->owner_ = std::move(owner);
  std::vector<Entry> entries;
  for (const auto& [key, value] : header.as_object()) {
    if (key == "__metadata__") {
      file->metadata_ = parse_metadata(value, name);
    } else {
      entries.push_back(parse_entry(key, value, name));
    }
  }
  check_cover(entries, data.size(), name);
  for (Entry& entry : entries) {
    file->data_.push_back(data.subspan(entry.begin, entry.end - entry.begin));
    file->tensors_.push_back(std::move(entry.info));
  }
  for (std::size_t i = 0; i < file->tensors_.size(); ++i) {
    file->index_.emplace(file->tensors_[i].name, i);
  }
  return file;
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

Tensor SafetensorsFile::tensor(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) {
    fail(ErrorCode::not_found, fmt::format("{}: there is no tensor {}", name_, json_quote(name)));
  }
  const TensorInfo& info = tensors_[found->second];
  return Tensor::aligned(info.dtype, info.shape, data_[found->second], owner_);
}

}  // namespace linnet
