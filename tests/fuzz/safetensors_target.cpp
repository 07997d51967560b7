// A .safetensors file: eight bytes of header length, the header, the data.
#include "formats/safetensors.h"
#include "fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linnet;
  const auto owner = fuzz::exact_copy(fuzz::text_of(data, size));
  fuzz::accepts([&] {
    const auto file = SafetensorsFile::from_bytes(*owner, "fuzz.safetensors", owner);
    for (const TensorInfo& info : file->tensors()) {
      fuzz::expect(file->find(info.name) != nullptr, "a listed tensor is found");
      const Tensor tensor = file->tensor(info.name);
      fuzz::expect(tensor.shape() == info.shape, "a tensor has the listed shape");
      tensor.to_floats();
    }
  });
  return 0;
}
