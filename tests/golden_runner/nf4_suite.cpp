// Folder "nf4": tensors in bitsandbytes' NF4, with and without double quantization.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "formats/safetensors.h"
#include "golden_runner/compare.h"
#include "golden_runner/packed_rows.h"
#include "golden_runner/suite.h"
#include "tensor/coded_rows.h"
#include "tensor/nf4.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;
using linnet::SafetensorsFile;
using linnet::Tensor;

class Nf4Case {
 public:
  Nf4Case(const Json& test_case, const SafetensorsFile& arrays)
      : case_(test_case), arrays_(arrays), name_(test_case.at("name").as_string("name")) {}

  // Nothing when all is right.
  std::optional<std::string> fault() const {
    const std::int64_t block = case_.at("blocksize").as_int("blocksize");
    const std::vector<float> x = input();
    if (case_.find("error") != nullptr) return refusal(x, block);
    const linnet::Nf4Tensor got = linnet::encode_nf4(x, block);
    if (!same_bytes(got.packed, array("packed"))) return "other codes";
    const bool is_nested = case_.at("double_quant").as_bool("double_quant");
    std::vector<float> absmax = got.absmax;
    if (is_nested) {
      if (auto wrong = check_nested(got.absmax)) return wrong;
      absmax = linnet::decode_nested(array("absmax").values<std::uint8_t>(),
                                     array("nested_absmax").values<float>(), offset());
      if (auto wrong = difference(absmax, array("absmax_f32").to_floats(), {0, 0})) return wrong;
    } else if (auto wrong = difference(absmax, array("absmax").to_floats(), {0, 0})) {
      return "absmax: " + *wrong;
    }
    std::vector<float> decoded(x.size());
    linnet::decode_nf4(got.packed, absmax, block, decoded);
    return decoded_fault(decoded);
  }

 private:
  static bool same_bytes(const std::vector<std::uint8_t>& got, const Tensor& want) {
    const auto bytes = want.values<std::uint8_t>();
    return std::equal(got.begin(), got.end(), bytes.begin(), bytes.end());
  }

  Tensor array(const std::string& field) const { return arrays_.tensor(name_ + "." + field); }
  float offset() const {
    const Json& value = case_.at("nested_offset");
    // JSON has no number for NaN and infinity.
    if (value.is_string()) return std::stof(value.as_string("nested_offset"));
    return static_cast<float>(value.as_double("nested_offset"));
  }

  // "x is OTHER.x", perhaps "rounded to bf16".
  std::vector<float> input() const {
    if (arrays_.has(name_ + ".x")) return array("x").to_floats();
    const std::string& note = case_.at("note").as_string("note");
    const std::size_t end = note.find(".x");
    std::vector<float> x = arrays_.tensor(note.substr(5, end + 2 - 5)).to_floats();
    if (note.ends_with("rounded to bf16")) {
      for (float& value : x) value = linnet::bf16_to_f32(linnet::f32_to_bf16(value));
    }
    return x;
  }

  static std::optional<std::string> refusal(const std::vector<float>& x, std::int64_t block) {
    try {
      linnet::encode_nf4(x, block);
    } catch (const linnet::Error&) {
      return std::nullopt;
    }
    return "should be refused";
  }

  std::optional<std::string> check_nested(const std::vector<float>& absmax) const {
    const float mean = linnet::encode_nested(absmax).offset;
    if (std::isfinite(offset()) && !(std::fabs(mean - offset()) <= 1e-6f * std::fabs(offset()))) {
      return fmt::format("offset {}, expected {}", mean, offset());
    }
    const linnet::NestedScales nested = linnet::encode_nested(absmax, offset());
    if (auto wrong = difference(nested.absmax, array("nested_absmax").to_floats(), {0, 0})) {
      return "nested absmax: " + *wrong;
    }
    const std::vector<float> decoded = linnet::decode_nested(nested.codes, nested.absmax, offset());
    const std::vector<float> want = array("absmax_f32").to_floats();
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (decoded[i] == want[i] || std::isnan(want[i])) continue;
      // The library's table may give the other one of two levels that are equally near.
      const float far = std::fabs(decoded[i] - absmax[i]),
                  want_far = std::fabs(want[i] - absmax[i]);
      if (!(std::fabs(far - want_far) <= 1e-4f * nested.absmax[i / 256])) {
        return fmt::format("absmax {}: got {}, expected {}, of {}", i, decoded[i], want[i],
                           absmax[i]);
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> decoded_fault(const std::vector<float>& decoded) const {
    if (!arrays_.has(name_ + ".deq_f32")) return std::nullopt;  // left out where it would be large
    if (auto wrong = difference(decoded, array("deq_f32").to_floats(), {0, 0})) return wrong;
    std::vector<float> rounded = decoded;
    for (float& value : rounded) value = linnet::bf16_to_f32(linnet::f32_to_bf16(value));
    // The library's machine flushed subnormal results to zero.
    return difference(rounded, array("deq_bf16").to_floats(), {1.2e-38, 0});
  }

  const Json& case_;
  const SafetensorsFile& arrays_;
  std::string name_;
};

void run_tables(const fs::path& folder, Report& report) {
  const auto tables = SafetensorsFile::open(folder / "tables.safetensors");
  const auto check = [&](const std::string& name, std::span<const float> got) {
    const auto fault = difference(got, tables->tensor(name).to_floats(), {0, 0});
    fault ? report.fail("table " + name, *fault) : report.pass("table " + name);
  };
  check("nf4.code", linnet::nf4_levels());
  check("nested.code", linnet::dynamic_levels());
}

// x times a stored matrix, by the kernels on its codes; the values that they stand for.
void run_linear(const SafetensorsFile& arrays, const std::string& name, Report& report) {
  const auto array = [&](const char* field) { return arrays.tensor(name + field); };
  const Tensor dense = array(".Wdeq_f32"), x = array(".x");
  std::vector<float> absmax;
  if (arrays.has(name + ".nested_absmax")) {
    absmax = linnet::decode_nested(array(".absmax").values<std::uint8_t>(),
                                   array(".nested_absmax").values<float>(),
                                   array(".nested_offset").values<float>()[0]);
  } else {
    absmax = array(".absmax").to_floats();
  }
  const auto rows = linnet::nf4_rows(dense.shape(), 64, array(".packed"), std::move(absmax));
  auto fault =
      difference(packed_values(*rows, linnet::PackedFormat::nf4), dense.to_floats(), {0, 0});
  if (!fault) {
    const auto got = packed_product(*rows, linnet::PackedFormat::nf4, x.values<float>(), x.dim(0));
    fault = difference(got, array(".y_f32").to_floats(), {});
  }
  fault ? report.fail(name, *fault) : report.pass(name);
}

bool accepts(const fs::path& folder) {
  return folder.filename() == "nf4" && fs::exists(folder / "cases.json");
}

void run(const fs::path& folder, Report& report) {
  run_tables(folder, report);
  const auto linears = SafetensorsFile::open(folder / "linear.safetensors");
  for (const linnet::TensorInfo& info : linears->tensors()) {
    constexpr std::string_view kDense = ".Wdeq_f32";
    if (!info.name.ends_with(kDense)) continue;
    run_linear(*linears, info.name.substr(0, info.name.size() - kDense.size()), report);
  }
  const Json head = Json::parse_file((folder / "cases.json").string());
  const auto arrays = SafetensorsFile::open(folder / "cases.safetensors");
  for (const Json& test_case : head.at("cases").as_array("cases")) {
    const std::string& name = test_case.at("name").as_string("name");
    if (test_case.at("quant_type").as_string("quant_type") != "nf4") {
      report.skip(name, "bitsandbytes' FP4 is not one of Linnet's formats");
      continue;
    }
    try {
      const auto fault = Nf4Case(test_case, *arrays).fault();
      fault ? report.fail(name, *fault) : report.pass(name);
    } catch (const std::exception& error) {
      report.fail(name, error.what());
    }
  }
}

}  // namespace

extern const Suite kNf4Suite;
const Suite kNf4Suite = {"nf4", accepts, run};

}  // namespace golden
