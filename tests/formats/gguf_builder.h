// Makes GGUF files for tests, good ones and, by its raw parts, bad ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace linnet {

template <typename T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}
inline std::string raw_text(std::string_view text) {
  return raw<std::uint64_t>(text.size()) + std::string(text);
}

class GgufBuilder {
 public:
  // `value` without its type.
  GgufBuilder& key(std::string_view name, std::uint32_t type, const std::string& value) {
    keys_ += raw_text(name) + raw(type) + value;
    ++key_count_;
    return *this;
  }
  GgufBuilder& number(std::string_view name, std::uint32_t value) {
    return key(name, 4, raw(value));
  }
  GgufBuilder& real(std::string_view name, float value) { return key(name, 6, raw(value)); }
  GgufBuilder& text(std::string_view name, std::string_view value) {
    return key(name, 8, raw_text(value));
  }
  GgufBuilder& texts(std::string_view name, const std::vector<std::string>& values) {
    std::string items = raw<std::uint32_t>(8) + raw<std::uint64_t>(values.size());
    for (const std::string& value : values) items += raw_text(value);
    return key(name, 9, items);
  }

  // Dimensions in the file's order, innermost first. The data follows that of the tensor before.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions,
                      std::uint32_t type, const std::string& data) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
    return tensor_at(name, dimensions, type, data_.size(), data);
  }
  GgufBuilder& tensor_at(std::string_view name, const std::vector<std::uint64_t>& dimensions,
                         std::uint32_t type, std::uint64_t offset, const std::string& data) {
    infos_ += raw_text(name) + raw(static_cast<std::uint32_t>(dimensions.size()));
    for (const std::uint64_t size : dimensions) infos_ += raw(size);
    infos_ += raw(type) + raw(offset);
    data_ += data;
    ++tensor_count_;
    return *this;
  }

  std::string build() const {
    std::string file = magic + raw(version) + raw(tensor_count_) + raw(key_count_) + keys_ + infos_;
    if (tensor_count_ > 0) {
      file.resize((file.size() + alignment - 1) / alignment * alignment, '\0');
    }
    return file + data_;
  }

  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::size_t alignment = 32;

 private:
  std::uint64_t key_count_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::string keys_, infos_, data_;
};

}  // namespace linnet
