#include "formats/coded_methods.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "tensor/nf4.h"
#include "tensor/packed_codes.h"

namespace linnet {
namespace {

constexpr std::string_view kWeight = ".weight";

bool is_matrix(const TensorInfo& info, DType dtype) {
  return info.dtype == dtype && info.shape.size() == 2 && info.name.ends_with(kWeight);
}

CodedEntry make_entry(const TensorInfo& codes, Shape shape, std::string_view format,
                      std::initializer_list<const TensorInfo*> parts,
                      std::function<std::shared_ptr<const CodedRows>()> make) {
  std::uint64_t bytes = stored_bytes(codes);
  for (const TensorInfo* part : parts) bytes = checked_add(bytes, stored_bytes(*part), codes.name);
  return {{codes.name, DType::coded, std::move(shape), format, bytes}, std::move(make)};
}

CodedEntry s6_entry(const TensorInfo& codes, CodedParts& parts) {
  const Weights& stored = parts.stored();
  const std::string& name = codes.name;
  const std::int64_t outputs = codes.shape[0];
  if (codes.shape[1] % 3 != 0) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: rows of {} bytes are no whole number of four codes of 6 bits",
                     stored.describe(name), codes.shape[1]));
  }
  const std::int64_t inputs = element_count({4, codes.shape[1] / 3}, stored.describe(name));
  const TensorInfo& scales = parts.require(name, "_scale", {DType::f16}, {outputs});
  const TensorInfo& groups =
      parts.require(name, "_groups64", {DType::i8}, {outputs, (inputs + kS6Group - 1) / kS6Group});
  return make_entry(codes, {outputs, inputs}, "s6", {&scales, &groups},
                    [&stored, name, scale = scales.name, group = groups.name] {
                      return s6_rows(stored.tensor(name), stored.tensor(group),
                                     stored.tensor(scale));
                    });
}

std::optional<CodedEntry> own_entry(const TensorInfo& codes, CodedParts& parts) {
  const Weights& stored = parts.stored();
  const std::string& name = codes.name;
  if (is_matrix(codes, DType::i8)) {
    const TensorInfo& scales = parts.require(name, "_scale", {DType::f32}, {codes.shape[0]});
    return make_entry(codes, codes.shape, "i8", {&scales}, [&stored, name, scale = scales.name] {
      return i8_rows(stored.tensor(name), stored.tensor(scale));
    });
  }
  if (!is_matrix(codes, DType::u8)) return std::nullopt;
  if (parts.find(name, "_groups64") != nullptr) return s6_entry(codes, parts);
  const std::int64_t outputs = codes.shape[0];
  const std::int64_t inputs = element_count({2, codes.shape[1]}, stored.describe(name));
  const TensorInfo& scales = parts.require(name, "_scale", {DType::f16}, {outputs});
  const TensorInfo& groups =
      parts.require(name, "_groups", {DType::i8}, {outputs, (inputs + kN4Group - 1) / kN4Group});
  return make_entry(codes, {outputs, inputs}, "n4", {&scales, &groups},
                    [&stored, name, scale = scales.name, group = groups.name] {
                      return n4_rows(stored.tensor(name), stored.tensor(group),
                                     stored.tensor(scale));
                    });
}

// What an MLX config says about one matrix.
struct MlxFormat {
  std::string mode = "affine";
  std::int64_t bits = 0;
  std::int64_t group = 0;
};

MlxFormat read_mlx(const Json& object, MlxFormat format, const std::string& config_file) {
  const auto number = [&](std::string_view key, std::int64_t& value) {
    const Json* found = object.find(key);
    if (found != nullptr)
      value = found->as_int_in(1, 4096, fmt::format("{}: {}", config_file, key));
  };
  number("bits", format.bits);
  number("group_size", format.group);
  const Json* mode = object.find("mode");
  if (mode != nullptr) format.mode = mode->as_string(config_file + ": mode");
  return format;
}

std::optional<Microscaling> microscaling_named(std::string_view name) {
  for (const Microscaling mode : {Microscaling::mxfp4, Microscaling::mxfp8, Microscaling::nvfp4}) {
    if (microscaling_info(mode).name == name) return mode;
  }
  return std::nullopt;
}

class MlxMethod {
 public:
  MlxMethod(const Json& quantization, std::string config_file)
      : quantization_(quantization),
        file_(std::move(config_file)),
        general_(read_mlx(quantization, {}, file_)) {}

  std::optional<CodedEntry> operator()(const TensorInfo& codes, CodedParts& parts) const {
    if (!is_matrix(codes, DType::u32)) return std::nullopt;
    const std::string stem = codes.name.substr(0, codes.name.size() - kWeight.size());
    const Json* own = quantization_.find(stem);
    const MlxFormat format =
        own != nullptr && own->is_object() ? read_mlx(*own, general_, file_) : general_;
    const auto mode = microscaling_named(format.mode);
    if (mode) return microscaled(codes, stem, *mode, parts);
    if (format.mode == "affine") return affine(codes, stem, format, parts);
    fail(ErrorCode::unsupported,
         fmt::format("{}: quantization mode {}: Linnet reads affine, mxfp4, mxfp8 and nvfp4", file_,
                     json_quote(format.mode)));
  }

 private:
  // Of a matrix whose rows have so many words.
  static std::int64_t width_of(const TensorInfo& codes, std::int64_t bits, CodedParts& parts) {
    const std::int64_t all = element_count({32, codes.shape[1]}, codes.name);
    if (all % bits == 0) return all / bits;
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: rows of {} words are no whole number of codes of {} bits",
                     parts.stored().describe(codes.name), codes.shape[1], bits));
  }

  std::optional<CodedEntry> affine(const TensorInfo& codes, const std::string& stem,
                                   const MlxFormat& given, CodedParts& parts) const {
    const AffineFormat format{static_cast<int>(given.bits), given.group};
    format.check(format.group);
    const std::int64_t outputs = codes.shape[0], inputs = width_of(codes, given.bits, parts);
    format.check(inputs);
    const std::initializer_list<DType> floats = {DType::f16, DType::bf16, DType::f32};
    const Shape groups = {outputs, inputs / given.group};
    const TensorInfo& scales = parts.require(stem, ".scales", floats, groups);
    const TensorInfo& biases = parts.require(stem, ".biases", {scales.dtype}, groups);
    const Weights& stored = parts.stored();
    return make_entry(
        codes, {outputs, inputs}, "affine", {&scales, &biases},
        [&stored, format, name = codes.name, scale = scales.name, bias = biases.name] {
          return affine_rows(format, stored.tensor(name), stored.tensor(scale),
                             stored.tensor(bias));
        });
  }

  std::optional<CodedEntry> microscaled(const TensorInfo& codes, const std::string& stem,
                                        Microscaling mode, CodedParts& parts) const {
    const MicroscalingInfo& info = microscaling_info(mode);
    const std::int64_t outputs = codes.shape[0], inputs = width_of(codes, info.bits, parts);
    if (inputs % info.group != 0) {
      fail(ErrorCode::corrupt_file,
           fmt::format("{}: rows of {} values are no multiple of the group of {}",
                       parts.stored().describe(codes.name), inputs, info.group));
    }
    const TensorInfo& scales =
        parts.require(stem, ".scales", {DType::u8}, {outputs, inputs / info.group});
    const Weights& stored = parts.stored();
    return make_entry(codes, {outputs, inputs}, info.name, {&scales},
                      [&stored, mode, name = codes.name, scale = scales.name] {
                        return microscaled_rows(mode, stored.tensor(name), stored.tensor(scale));
                      });
  }

  Json quantization_;
  std::string file_;
  MlxFormat general_;
};

// What bitsandbytes says about one matrix, in JSON in a tensor of bytes.
struct Nf4State {
  Shape shape;
  std::int64_t block = 64;
  bool is_nested = false;
  float offset = 0;
};

Nf4State read_nf4_state(const Weights& stored, const std::string& name) {
  const std::string what = stored.describe(name);
  const Tensor tensor = stored.tensor(name);
  const Json json = Json::parse(as_text(tensor.bytes()), what);
  Nf4State state;
  for (const Json& axis : json.at("shape").as_array(what)) {
    state.shape.push_back(axis.as_int_in(1, std::int64_t{1} << 31, what));
  }
  if (state.shape.size() != 2) {
    fail(ErrorCode::unsupported, fmt::format("{}: {} is no matrix", what, shape_text(state.shape)));
  }
  state.block = json.at("blocksize").as_int(what);
  check_nf4_block(state.block);
  state.is_nested = json.find("nested_offset") != nullptr;
  if (!state.is_nested) return state;
  state.offset = static_cast<float>(json.at("nested_offset").as_double(what));
  const std::int64_t nested = json.at("nested_blocksize").as_int(what);
  if (nested != NestedScales::kBlock) {
    fail(ErrorCode::unsupported, fmt::format("{}: nested blocks of {}, Linnet reads {}", what,
                                             nested, NestedScales::kBlock));
  }
  return state;
}

// The tables are fixed; a file with others would decode wrongly.
void check_levels(const Weights& stored, const TensorInfo& part, std::span<const float> levels) {
  const Tensor table = stored.tensor(part.name);
  if (std::ranges::equal(table.values<float>(), levels)) return;
  fail(ErrorCode::unsupported, fmt::format("{}: other levels than those of NF4 in bitsandbytes",
                                           stored.describe(part.name)));
}

std::shared_ptr<const CodedRows> make_nf4(const Weights& stored, const std::string& name,
                                          const Nf4State& state) {
  const Tensor absmax = stored.tensor(name + ".absmax");
  std::vector<float> scales;
  if (state.is_nested) {
    scales = decode_nested(absmax.values<std::uint8_t>(),
                           stored.tensor(name + ".nested_absmax").values<float>(), state.offset);
  } else {
    scales = absmax.to_floats();
  }
  return nf4_rows(state.shape, state.block, stored.tensor(name), std::move(scales));
}

std::optional<CodedEntry> nf4_entry(const TensorInfo& codes, CodedParts& parts) {
  constexpr std::string_view kState = ".quant_state.bitsandbytes__nf4";
  if (codes.dtype != DType::u8 || !codes.name.ends_with(kWeight)) return std::nullopt;
  const Weights& stored = parts.stored();
  const std::string& name = codes.name;
  const Nf4State state = read_nf4_state(stored, parts.require(name, kState).name);
  const auto rounded_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t count = element_count(state.shape, name);
  const std::int64_t blocks = rounded_up(count, state.block);
  if (codes.shape != Shape{rounded_up(count, 2), 1}) {
    fail(ErrorCode::corrupt_file,
         fmt::format("{}: [{}, 1] is needed for a matrix of {}", stored.describe(name),
                     rounded_up(count, 2), shape_text(state.shape)));
  }
  check_levels(stored, parts.require(name, ".quant_map", {DType::f32}, {16}), nf4_levels());
  const DType scale_type = state.is_nested ? DType::u8 : DType::f32;
  const TensorInfo* nested = &parts.require(name, ".absmax", {scale_type}, {blocks});
  const TensorInfo& absmax = *nested;
  if (state.is_nested) {
    nested = &parts.require(name, ".nested_absmax", {DType::f32},
                            {rounded_up(blocks, NestedScales::kBlock)});
    check_levels(stored, parts.require(name, ".nested_quant_map", {DType::f32}, {256}),
                 dynamic_levels());
  }
  const auto make = [&stored, name, state] { return make_nf4(stored, name, state); };
  const std::string_view format = nf4_format(state.shape, state.block);
  return state.is_nested ? make_entry(codes, state.shape, format, {&absmax, nested}, make)
                         : make_entry(codes, state.shape, format, {&absmax}, make);
}

}  // namespace

const TensorInfo* CodedParts::find(const std::string& matrix, std::string_view suffix) {
  const TensorInfo* info = stored_.find(matrix + std::string(suffix));
  if (info != nullptr) parts_.insert(info->name);
  return info;
}

const TensorInfo& CodedParts::require(const std::string& matrix, std::string_view suffix) {
  const TensorInfo* info = find(matrix, suffix);
  if (info != nullptr) return *info;
  fail(
      ErrorCode::corrupt_file,
      fmt::format("{}: the tensor {}{} is missing, which it is decoded with; download or write the "
                  "model again",
                  stored_.describe(matrix), matrix, suffix));
}

const TensorInfo& CodedParts::require(const std::string& matrix, std::string_view suffix,
                                      std::initializer_list<DType> types, const Shape& shape) {
  const TensorInfo& info = require(matrix, suffix);
  const bool is_fit = std::find(types.begin(), types.end(), info.dtype) != types.end();
  if (is_fit && info.shape == shape) return info;
  std::string names;
  for (const DType type : types)
    names += (names.empty() ? "" : " or ") + std::string(dtype_name(type));
  fail(ErrorCode::corrupt_file,
       fmt::format("{}: {} {} is needed for the codes of {}", stored_.describe(info.name), names,
                   shape_text(shape), matrix));
}

CodedMethod own_method() { return own_entry; }
CodedMethod nf4_method() { return nf4_entry; }
CodedMethod mlx_method(const Json& quantization, const std::string& config_file) {
  return MlxMethod(quantization, config_file);
}

}  // namespace linnet
