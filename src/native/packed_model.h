// The packed matrices and vectors of a native lane in one file, in the kernels' own layout, so that
// loading maps it and is done. All numbers are little endian; the layout is the same for every
// instruction set, so the file may move from machine to machine.
//   8 bytes   "LINNETPK"
//   u32       version of the layout
//   u32       zero
//   u64       where the data begins, a multiple of 4096
//   u64       checksum64 of the bytes from here to there
//   JSON      {"config": what config.json says, "parts": [{"name", "format", "outputs", "inputs",
//             "bytes", "checksum"}]}, filled up with spaces
//   data      the parts in this order, each at a multiple of 4096 and filled up with zeros to the
//             next one; the checksum is checksum64 of its bytes, as 16 hexadecimal digits
// A part is a matrix in strips (kernels/packed_matrix.h) or a vector of f32 (format "vector").
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_map.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "kernels/packed_matrix.h"

namespace linnet {

struct PackedPart {
  std::string name;
  std::string format;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  Bytes bytes;
  std::shared_ptr<const void> owner = {};  // of bytes that nothing else keeps alive
};

class PackedModel {
 public:
  // Checks the head and that every part lies within the file. Errors: not_found, io; corrupt_file;
  // unsupported for another version of the layout.
  static std::shared_ptr<const PackedModel> open(const std::filesystem::path& path,
                                                 FileAccess access = FileAccess::map);

  const Json& config() const { return config_; }
  const std::vector<PackedPart>& parts() const { return parts_; }
  // Reads everything once. Error{corrupt_file} names the first part that is damaged.
  void verify(ThreadPool& pool) const;
  // A matrix of so many outputs and inputs (without their padding), which keeps the file alive; a
  // vector. Error{corrupt_file} without such a part, or when it has another size or format.
  PackedMatrix matrix(const std::string& name, std::int64_t outputs, std::int64_t inputs) const;
  std::vector<float> vector(const std::string& name, std::int64_t count) const;
  bool has(const std::string& name) const { return index_.contains(name); }

 private:
  PackedModel() = default;
  void read_header(const Json& header, std::uint64_t begin);
  const PackedPart& require(const std::string& name) const;
  [[noreturn]] void corrupt(std::string_view what) const;

  std::shared_ptr<const FileMap> file_;
  std::string name_;
  Json config_;
  std::vector<PackedPart> parts_;
  std::vector<std::uint64_t> checksums_;
  std::map<std::string, std::size_t> index_;
};

// Writes the file, complete or not at all. `on_progress` is called with values from 0 to 1; what it
// throws ends the writing.
void write_packed_model(const std::filesystem::path& path, const Json& config,
                        const std::vector<PackedPart>& parts, ThreadPool& pool,
                        const std::function<void(double)>& on_progress = {});

}  // namespace linnet
