#include "formats/gguf.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "formats/gguf_types.h"

namespace linnet {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint64_t kMaxNameBytes = 65535;
constexpr std::uint64_t kMaxAlignment = 65536;
constexpr std::uint64_t kMaxStringBytes = std::uint64_t{64} << 20;
constexpr std::uint32_t kMaxAxes = 4;
// The least bytes that one key with its value, or one tensor's entry, can take.
constexpr std::uint64_t kMinKeyBytes = 8 + 4 + 1;
constexpr std::uint64_t kMinTensorBytes = 8 + 4 + 4 + 8;

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

}  // namespace

class GgufReader {
 public:
  GgufReader(Bytes bytes, const std::string& name) : reader_(bytes, name), file_(new GgufFile()) {}

  std::shared_ptr<const GgufFile> read(std::shared_ptr<const void> owner) {
    file_->name_ = reader_.name();
    file_->owner_ = std::move(owner);
    read_version();
    const auto tensors = reader_.read<std::uint64_t>("tensor count");
    const auto keys = reader_.read<std::uint64_t>("key count");
    reader_.check_count(tensors, kMinTensorBytes, "tensor count");
    reader_.check_count(keys, kMinKeyBytes, "key count");
    for (std::uint64_t i = 0; i < keys; ++i) read_key();
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    place_data();
    return file_;
  }

 private:
  void read_version();
  void read_key();
  void read_value(GgufValue& value);
  void read_array(GgufValue& value);
  GgufType read_type(const std::string& label);
  void read_tensor();
  DType read_tensor_type(const std::string& what);
  void place_data();
  std::uint64_t alignment() const;

  [[noreturn]] void corrupt(const std::string& what, const std::string& reason) const {
    fail(ErrorCode::corrupt_file, fmt::format("{}: {}", what, reason));
  }
  std::string_view read_string(std::string_view what, std::uint64_t limit) {
    const auto length = reader_.read<std::uint64_t>(what);
    if (length > limit && length <= reader_.remaining()) {
      reader_.corrupt(fmt::format("{} of {} bytes; at most {} are allowed", what, length, limit));
    }
    return as_text(reader_.take(length, what));
  }
  std::string tensor_label(std::string_view name) const {
    return fmt::format("{}: tensor {}", reader_.name(), json_quote(name));
  }

  ByteReader reader_;
  std::shared_ptr<GgufFile> file_;
  std::string what_;                    // the key that is being read
  std::vector<std::uint64_t> offsets_;  // of each tensor, from the start of the data
};

void GgufReader::read_version() {
  const std::string& name = reader_.name();
  if (reader_.size() < 4 || reader_.read<std::uint32_t>("magic") != kMagic) {
    corrupt(name, "not a GGUF file: the magic \"GGUF\" is not at its start");
  }
  const auto version = reader_.read<std::uint32_t>("version");
  if (version == 2 || version == 3) return;
  if ((version & 0xffffu) == 0) {
    fail(ErrorCode::unsupported,
         fmt::format("{}: its version is stored big-endian; Linnet reads little-endian GGUF files",
                     name));
  }
  fail(ErrorCode::unsupported,
       fmt::format("{}: GGUF version {}; Linnet reads versions 2 and 3", name, version));
}

void GgufReader::read_key() {
  const std::string_view key = read_string("key", kMaxNameBytes);
  if (key.empty() || !is_printable_ascii(key)) {
    reader_.corrupt(fmt::format("the key {} is not printable ASCII", json_quote(key)));
  }
  GgufValue value;
  what_ = fmt::format("key {}", key);
  value.label_ = fmt::format("{}: {}", reader_.name(), what_);
  read_value(value);
  if (!file_->values_.emplace(key, std::move(value)).second) {
    corrupt(fmt::format("{}: {}", reader_.name(), what_), "stands twice in the file");
  }
}

GgufType GgufReader::read_type(const std::string& label) {
  const auto type = reader_.read<std::uint32_t>("value type");
  if (type > static_cast<std::uint32_t>(GgufType::f64)) {
    corrupt(label, fmt::format("unknown value type {}", type));
  }
  return static_cast<GgufType>(type);
}

void GgufReader::read_value(GgufValue& value) {
  value.type_ = read_type(value.label_);
  if (value.type_ == GgufType::array) return read_array(value);
  if (value.type_ == GgufType::string) {
    value.bytes_ = as_bytes(read_string(what_, kMaxStringBytes));
    return;
  }
  value.bytes_ = reader_.take(gguf_value_bytes(value.type_), what_);
  if (value.type_ == GgufType::boolean && std::to_integer<int>(value.bytes_[0]) > 1) {
    corrupt(value.label_, "a boolean that is neither 0 nor 1");
  }
}

void GgufReader::read_array(GgufValue& value) {
  value.item_ = read_type(value.label_);
  if (value.item_ == GgufType::array) corrupt(value.label_, "arrays in arrays are not allowed");
  value.count_ = reader_.read<std::uint64_t>(what_);
  const bool strings = value.item_ == GgufType::string;
  const std::uint64_t size = strings ? sizeof(std::uint64_t) : gguf_value_bytes(value.item_);
  reader_.check_count(value.count_, size, what_);
  const std::uint64_t begin = reader_.offset();
  if (strings) {
    for (std::uint64_t i = 0; i < value.count_; ++i) read_string(what_, kMaxStringBytes);
  } else {
    reader_.skip(value.count_ * size);
  }
  value.bytes_ = reader_.range(begin, reader_.offset() - begin, what_);
}

DType GgufReader::read_tensor_type(const std::string& what) {
  const auto id = reader_.read<std::uint32_t>("tensor type");
  const GgufTensorType* type = find_gguf_tensor_type(id);
  if (type != nullptr && type->dtype) return *type->dtype;
  fail(ErrorCode::unsupported,
       fmt::format("{}: its type {} ({}) is not supported; take a file in Q8_0, Q4_K_M or another "
                   "common type",
                   what, id, type == nullptr ? "unknown" : type->name));
}

void GgufReader::read_tensor() {
  const std::string_view name = read_string("tensor name", kMaxNameBytes);
  const std::string what = tensor_label(name);
  TensorInfo info;
  info.name = name;
  const auto axes = reader_.read<std::uint32_t>("number of dimensions");
  if (axes > kMaxAxes)
    corrupt(what, fmt::format("{} dimensions; at most {} are allowed", axes, kMaxAxes));
  for (std::uint32_t i = 0; i < axes; ++i) {
    const auto size = reader_.read<std::uint64_t>("dimension");
    if (size == 0 || !std::in_range<std::int64_t>(size)) {
      corrupt(what, fmt::format("dimension {} has the size {}", i, size));
    }
    info.shape.push_back(static_cast<std::int64_t>(size));
  }
  std::reverse(info.shape.begin(), info.shape.end());
  info.dtype = read_tensor_type(what);
  offsets_.push_back(reader_.read<std::uint64_t>("tensor offset"));
  const std::size_t place = file_->tensors_.size();
  file_->tensors_.push_back(std::move(info));
  // The name in the file's bytes stays where it is, the vector's strings move.
  if (!file_->index_.emplace(name, place).second)
    corrupt(what, "the name stands twice in the file");
}

std::uint64_t GgufReader::alignment() const {
  constexpr std::string_view kKey = "general.alignment";
  const GgufValue* value = file_->find(kKey);
  if (value == nullptr) return 32;
  const auto bytes = static_cast<std::uint64_t>(value->as_int_in(1, kMaxAlignment));
  if ((bytes & (bytes - 1)) != 0) {
    corrupt(fmt::format("{}: key {}", reader_.name(), kKey),
            fmt::format("{} is not a power of two", bytes));
  }
  return bytes;
}

void GgufReader::place_data() {
  const std::uint64_t unit = alignment();
  if (file_->tensors_.empty()) return;
  const std::uint64_t start = (reader_.offset() + unit - 1) / unit * unit;
  const std::uint64_t size = reader_.size() < start ? 0 : reader_.size() - start;
  std::vector<std::array<std::uint64_t, 3>> extents;  // begin, end, tensor
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const TensorInfo& info = file_->tensors_[i];
    const std::string what = tensor_label(info.name);
    const std::uint64_t bytes = tensor_bytes(info.dtype, info.shape, what);
    if (offsets_[i] % unit != 0) {
      corrupt(what, fmt::format("its offset {} is not a multiple of the alignment {}", offsets_[i],
                                unit));
    }
    if (offsets_[i] > size || bytes > size - offsets_[i]) {
      corrupt(what, fmt::format("its data is not within the file: offset {} and {} bytes, but {} "
                                "bytes of data are there (cut short?)",
                                offsets_[i], bytes, size));
    }
    file_->data_.push_back(reader_.range(start + offsets_[i], bytes, what));
    extents.push_back({offsets_[i], offsets_[i] + bytes, i});
  }
  std::sort(extents.begin(), extents.end());
  for (std::size_t i = 1; i < extents.size(); ++i) {
    if (extents[i][0] >= extents[i - 1][1]) continue;
    corrupt(tensor_label(file_->tensors_[extents[i][2]].name),
            fmt::format("its data overlaps that of {}",
                        json_quote(file_->tensors_[extents[i - 1][2]].name)));
  }
}

std::shared_ptr<const GgufFile> GgufFile::open(const std::filesystem::path& path,
                                               FileAccess access) {
  auto map = FileMap::open(path, access);
  const Bytes bytes = map->bytes();
  return from_bytes(bytes, path.string(), std::move(map));
}

std::shared_ptr<const GgufFile> GgufFile::from_bytes(Bytes bytes, const std::string& name,
                                                     std::shared_ptr<const void> owner) {
  return GgufReader(bytes, name).read(std::move(owner));
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

const GgufValue& GgufFile::at(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) {
    fail(ErrorCode::corrupt_file, fmt::format("{}: the key {} is missing", name_, key));
  }
  return *value;
}

const TensorInfo* GgufFile::find_tensor(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

Tensor GgufFile::tensor(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) {
    fail(ErrorCode::not_found, fmt::format("{}: there is no tensor {}", name_, json_quote(name)));
  }
  const TensorInfo& info = tensors_[found->second];
  return Tensor::aligned(info.dtype, info.shape, data_[found->second], owner_);
}

}  // namespace linnet
