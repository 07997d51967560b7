#include "formats/convert_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <tuple>

#include "base/error.h"
#include "formats/tied_head.h"

namespace linnet {
namespace {

constexpr std::string_view kHead = "lm_head.weight";
constexpr std::string_view kEmbedding = "model.embed_tokens.weight";
constexpr std::string_view kLayers = "model.layers.";

// Embedding, layers by number, the rest.
std::tuple<int, std::int64_t> place_of(const std::string& name) {
  if (name == kEmbedding) return {0, 0};
  if (!name.starts_with(kLayers)) return {2, 0};
  std::int64_t layer = 0;
  std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), layer);
  return {1, layer};
}

// Whether the output matrix is left out: it repeats the embedding that the config ties it to.
bool drop_head(const ModelFiles& source, ConvertReport& report) {
  const bool tied = config_ties_head(source.config);
  const OwnHead head = find_own_head(source);
  if (!tied && head == OwnHead::absent) {
    fail(ErrorCode::corrupt_file, fmt::format("{}: tie_word_embeddings is false, but {} has no {}",
                                              source.config_file, source.path.string(), kHead));
  }
  if (!tied || head == OwnHead::absent) return false;
  if (head == OwnHead::different) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: tie_word_embeddings is true, but {} has a {} that is not the embedding; "
                     "set it to false, or take the tensor out",
                     source.config_file, source.path.string(), kHead));
  }
  report.notes.push_back(fmt::format("{} left out: it is the embedding once more", kHead));
  return true;
}

bool is_vector(const TensorInfo& info) { return info.shape.size() < 2; }

bool keeps_every_value(const Tensor& tensor, DType dtype) {
  for (const float value : tensor.to_floats()) {
    const float kept =
        dtype == DType::f16 ? f16_to_f32(f32_to_f16(value)) : bf16_to_f32(f32_to_bf16(value));
    if (!(kept == value)) return false;
  }
  return true;
}

}  // namespace

std::vector<TensorInfo> tensors_to_convert(const ModelFiles& source, ConvertReport& report) {
  if (source.weights == nullptr) source.tensor(kEmbedding);  // says which files are missing
  std::vector<TensorInfo> infos = source.weights->tensors();
  if (drop_head(source, report)) {
    std::erase_if(infos, [](const TensorInfo& info) { return info.name == kHead; });
  }
  std::stable_sort(infos.begin(), infos.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return place_of(a.name) < place_of(b.name);
  });
  return infos;
}

DType type_in_gguf(const TensorInfo& info, const ConvertOptions& options, ConvertReport& report) {
  if (!is_floating(info.dtype)) return info.dtype;
  if (is_vector(info)) return DType::f32;
  // GGUF has no codes of ours; floats keep their values.
  const DType as_it_is = info.dtype == DType::coded ? DType::f32 : info.dtype;
  const DType wanted = options.dtype.value_or(as_it_is);
  if (info.shape.back() % dtype_info(wanted).block_values == 0) return wanted;
  report.notes.push_back(fmt::format("{} is f16, its rows of {} are no whole number of {} blocks",
                                     info.name, info.shape.back(), dtype_name(wanted)));
  return DType::f16;
}

DType type_in_safetensors(const TensorInfo& info, const ModelFiles& source,
                          const ConvertOptions& options) {
  if (!is_floating(info.dtype)) return info.dtype;
  if (options.dtype) return *options.dtype;
  if (!dtype_info(info.dtype).plain()) return DType::f32;
  const TensorInfo* embedding = source.find(kEmbedding);
  if (!is_vector(info) || info.dtype != DType::f32 || embedding == nullptr) return info.dtype;
  const bool half = embedding->dtype == DType::f16 || embedding->dtype == DType::bf16;
  return half && keeps_every_value(source.tensor(info.name), embedding->dtype) ? embedding->dtype
                                                                               : info.dtype;
}

}  // namespace linnet
