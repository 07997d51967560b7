// model.safetensors.index.json, beside two shards and a stray file.
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/file_map.h"
#include "formats/safetensors.h"
#include "formats/weights.h"
#include "fuzz/target.h"

namespace {

using namespace linnet;
namespace fs = std::filesystem;

// A folder that goes when the process ends well.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "linnet-fuzz-XXXXXX").string();
    fuzz::expect(::mkdtemp(name.data()) != nullptr, "a temporary folder can be made");
    path_ = name;
    const Tensor tensor = Tensor::from_values({2}, std::vector<float>{1, 2});
    write_safetensors(path_ / "a.safetensors", {{"x", tensor}, {"y", tensor}});
    write_safetensors(path_ / "b.safetensors", {{"z", tensor}});
    write_safetensors(path_ / "stray.safetensors", {{"x", tensor}});
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const fs::path index = folder.path() / "model.safetensors.index.json";
  // Written in place: the atomic writer waits for the disk.
  std::FILE* file = std::fopen(index.c_str(), "wb");
  fuzz::expect(file != nullptr && (size == 0 || std::fwrite(data, 1, size, file) == size) &&
                   std::fclose(file) == 0,
               "the index can be written");
  fuzz::accepts([&] {
    std::vector<std::string> notes;
    const auto weights = open_safetensors_weights(folder.path(), FileAccess::read, notes);
    for (const TensorInfo& info : weights->tensors()) {
      fuzz::expect(weights->tensor(info.name).to_floats().size() == 2, "tensors have their values");
    }
  });
  return 0;
}
