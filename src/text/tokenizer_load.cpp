#include "base/file_map.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

namespace linnet {

std::shared_ptr<const Tokenizer> load_tokenizer_json(const std::filesystem::path& path) {
  const auto file = FileMap::open(path);
  return std::make_shared<const Tokenizer>(
      tokenizer_data_from_json(as_text(file->bytes()), path.string()));
}

}  // namespace linnet
