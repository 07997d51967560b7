#include "model/random_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/file_map.h"
#include "base/random.h"
#include "formats/coded_weights.h"
#include "formats/safetensors_writer.h"
#include "formats/staged_folder.h"
#include "model/build_program.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

// Root mean squares of what random codes stand for: of bytes in [-127, 127]; of the levels of N4
// times c / 128, of the codes of S6 times c / 32, with |c| evenly in [64, 127].
constexpr double kI8Rms = 73.61;
constexpr double kN4Rms = 51.22;
constexpr double kS6Rms = 56.17;

// What a tensor is filled with: floats of its type, or bytes.
enum class Fill : std::uint8_t { same, even_floats, i8_codes, any_codes, groups };

struct Part {
  TensorInfo info;
  Fill fill = Fill::same;
  double value = 0;  // same: of every element; even_floats: their root mean square
};

template <typename T>
void put(std::byte* out, std::int64_t index, T value) {
  std::memcpy(out + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

// Evenly in [-1, 1], of mean square 1 / 3.
float even(std::uint32_t word) {
  return (static_cast<float>(word >> 8) - 8388607.5f) * (1.0f / 8388608.0f);
}

void put_byte(Fill fill, std::byte* out, std::uint8_t random) {
  if (fill == Fill::i8_codes) random = random == 0x80 ? 0x81 : random;
  if (fill == Fill::groups) {
    const int magnitude = 64 + (random & 63);
    random = static_cast<std::uint8_t>(random & 0x80 ? -magnitude : magnitude);
  }
  *out = static_cast<std::byte>(random);
}

void put_float(DType dtype, std::byte* out, std::int64_t index, float value) {
  if (dtype == DType::f32) return put(out, index, value);
  put(out, index, dtype == DType::bf16 ? f32_to_bf16(value) : f32_to_f16(value));
}

// Elements [begin, end) of a part, `begin` a multiple of eight. Each block of the cipher gives two
// floats or eight bytes.
void fill(const Part& part, RandomKey key, std::byte* out, std::int64_t begin, std::int64_t end) {
  const bool is_even = part.fill == Fill::even_floats;
  const std::int64_t step = is_even ? 2 : 8;
  const auto scale = static_cast<float>(part.value * std::sqrt(3.0));
  for (std::int64_t i = begin; i < end; i += step) {
    const std::int64_t block = i / step, count = std::min(step, end - i);
    const auto words = threefry2x32(key, static_cast<std::uint32_t>(block),
                                    static_cast<std::uint32_t>(block >> 32));
    std::uint8_t bytes[8];
    std::memcpy(bytes, words.data(), sizeof bytes);
    for (std::int64_t j = 0; j < count; ++j) {
      if (is_even) {
        const float value = scale * even(words[static_cast<std::size_t>(j)]);
        put_float(part.info.dtype, out, i + j, value);
      } else {
        put_byte(part.fill, out + i + j, bytes[j]);
      }
    }
  }
}

Tensor make_tensor(const Part& part, RandomKey key, ThreadPool& pool) {
  const Tensor tensor = Tensor::zeros(part.info.dtype, part.info.shape);
  // Just made and not shared yet, so it may be written through.
  auto* out = const_cast<std::byte*>(tensor.bytes().data());
  constexpr std::int64_t kGrain = std::int64_t{1} << 16;
  pool.parallel_for(tensor.elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    if (part.fill != Fill::same) return fill(part, key, out, begin, end);
    for (std::int64_t i = begin; i < end; ++i) {
      put_float(part.info.dtype, out, i, static_cast<float>(part.value));
    }
  });
  return tensor;
}

void add_matrix(const std::string& name, const WeightSlot& slot, RandomFormat format,
                std::vector<Part>& parts) {
  const std::int64_t outputs = slot.shape[0], inputs = slot.shape[1];
  const double rms = 1 / std::sqrt(static_cast<double>(inputs));
  if (format == RandomFormat::n4) {
    const std::int64_t groups = (inputs + kN4Group - 1) / kN4Group;
    parts.push_back({{name, DType::u8, {outputs, inputs / 2}}, Fill::any_codes});
    parts.push_back({{name + "_groups", DType::i8, {outputs, groups}}, Fill::groups});
    parts.push_back({{name + "_scale", DType::f16, {outputs}}, Fill::same, rms / kN4Rms});
  } else if (format == RandomFormat::s6) {
    const std::int64_t groups = (inputs + kS6Group - 1) / kS6Group;
    parts.push_back({{name, DType::u8, {outputs, inputs / 4 * 3}}, Fill::any_codes});
    parts.push_back({{name + "_groups64", DType::i8, {outputs, groups}}, Fill::groups});
    parts.push_back({{name + "_scale", DType::f16, {outputs}}, Fill::same, rms / kS6Rms});
  } else if (format == RandomFormat::i8) {
    parts.push_back({{name, DType::i8, slot.shape}, Fill::i8_codes});
    parts.push_back({{name + "_scale", DType::f32, {outputs}}, Fill::same, rms / kI8Rms});
  } else {
    const DType dtype = format == RandomFormat::bf16 ? DType::bf16 : DType::f32;
    parts.push_back({{name, dtype, slot.shape}, Fill::even_floats, rms});
  }
}

RandomFormat matrix_format(RandomFormat format, bool is_fine, std::int64_t inputs) {
  if (format == RandomFormat::n4 && is_fine) format = RandomFormat::s6;
  const bool is_uneven = (format == RandomFormat::n4 && inputs % 2 != 0) ||
                         (format == RandomFormat::s6 && inputs % 4 != 0);
  return is_uneven ? RandomFormat::i8 : format;
}

std::vector<Part> plan_parts(const Program& program, RandomFormat format) {
  const DType vectors = format == RandomFormat::bf16 ? DType::bf16 : DType::f32;
  std::vector<Part> parts;
  for (const WeightSlot& slot : program.weights) {
    const bool is_head = is_head_weight(slot.name);
    const std::string name = is_head ? slot.name : "model." + slot.name;
    if (slot.shape.size() < 2) {
      const double value = slot.name.ends_with(".bias") ? 0 : 1;
      parts.push_back({{name, vectors, slot.shape}, Fill::same, value});
      continue;
    }
    const bool is_fine = is_head || slot.name == "embed_tokens.weight";
    add_matrix(name, slot, matrix_format(format, is_fine, slot.shape[1]), parts);
  }
  return parts;
}

std::string config_text(Json config, RandomFormat format) {
  const bool is_bf16 = format == RandomFormat::bf16;
  config.set(config.find("dtype") != nullptr ? "dtype" : "torch_dtype",
             is_bf16 ? "bfloat16" : "float32");
  drop_quantization(config);
  if (format != RandomFormat::f32 && format != RandomFormat::bf16) {
    config.set("quantization_config", own_quantization_config());
  }
  return config.dump({.indent = 2}) + "\n";
}

void check_target(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return;
  if (fs::is_directory(folder, error) && fs::is_empty(folder, error) && !error) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: is there already; give a name that is not, or an empty folder",
                   folder.string()));
}

}  // namespace

RandomModelReport write_random_model(const Json& config, const std::string& config_file,
                                     const fs::path& given, const RandomModelOptions& options) {
  const fs::path folder = given.has_filename() ? given : given.parent_path();
  if (folder.empty()) fail(ErrorCode::invalid_argument, "the name of the result is empty");
  check_target(folder);
  const Program program = build_program(ModelConfig::from_json(config, config_file));
  const RandomKey seed = RandomKey::from_seed(options.seed);
  ThreadPool pool(options.output.threads);
  RandomModelReport report;
  for (const WeightSlot& slot : program.weights) {
    report.parameters += static_cast<std::uint64_t>(element_count(slot.shape, slot.name));
  }
  std::vector<OutgoingTensor> tensors;
  std::uint32_t number = 0;
  for (Part& part : plan_parts(program, options.format)) {
    const auto words = threefry2x32(seed, number++, 0);
    const RandomKey key{words[0], words[1]};
    OutgoingTensor tensor;
    tensor.info = part.info;
    tensor.load = [part = std::move(part), key, &pool] { return make_tensor(part, key, pool); };
    tensors.push_back(std::move(tensor));
  }
  report.bytes = total_bytes(tensors);
  StagedFolder staged(folder);
  TensorOutput output(report.bytes, options.output);
  write_safetensors_model(staged.path(), std::move(tensors), kDefaultShardBytes, output);
  write_file_atomically(staged.path() / "config.json",
                        as_bytes(config_text(config, options.format)));
  staged.commit({});
  return report;
}

}  // namespace linnet
