// A GGUF file, read as a model: metadata, configuration, tokenizer, tensors.
#include "formats/gguf.h"

#include "formats/gguf_model.h"
#include "fuzz/target.h"
#include "text/tokenizer.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linnet;
  const auto owner = fuzz::exact_copy(fuzz::text_of(data, size));
  std::shared_ptr<const GgufFile> file;
  if (!fuzz::accepts([&] { file = GgufFile::from_bytes(*owner, "fuzz.gguf", owner); })) return 0;
  for (const TensorInfo& info : file->tensors()) {
    fuzz::accepts([&] { file->tensor(info.name).to_floats(); });
  }
  fuzz::accepts([&] { gguf_config(*file); });
  fuzz::accepts([&] { gguf_generation_config(*file); });
  fuzz::accepts([&] { gguf_tokenizer_config(*file); });
  fuzz::accepts([&] { gguf_chat_template(*file); });
  fuzz::accepts([&] { Tokenizer tokenizer(gguf_tokenizer(*file)); });
  fuzz::accepts([&] {
    const auto weights = gguf_weights(file);
    for (const TensorInfo& info : weights->tensors()) {
      fuzz::accepts([&] { weights->tensor(info.name).to_floats(); });
    }
  });
  return 0;
}
