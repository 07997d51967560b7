#include "quantize/quantize_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "formats/coded_weights.h"
#include "model/build_program.h"
#include "model/find_weights.h"
#include "model/weights.h"
#include "quantize/calibration.h"
#include "quantize/dither.h"
#include "quantize/float_weights.h"
#include "quantize/outer_products.h"
#include "quantize/quantize_state.h"
#include "quantize/smoothing.h"
#include "quantize/stored_matrix.h"

namespace fs = std::filesystem;

namespace linnet {
namespace {

constexpr float kDamping = 0.01f;           // of the mean square, added to every column
constexpr std::int64_t kRowsAtOnce = 8192;  // of a head or an embedding

class Quantizing {
 public:
  Quantizing(const ModelFiles& source, const fs::path& target, const QuantizeOptions& options)
      : source_(source),
        target_(target),
        options_(options),
        config_(ModelConfig::from_json(source.config, source.config_file)),
        program_(build_program(config_)),
        pool_(std::make_shared<ThreadPool>(options.threads)),
        state_(place_of_parts(source, target, options), settings()) {
    LoadOptions load;
    load.decode_limit = 0;  // decoded layer by layer
    tensors_ = load_weights(source, config_, program_, *pool_, load).tensors;
    if (options.dither) dither();
    const WeightFinder finder(source, config_, program_, load);
    for (const WeightSlot& slot : program_.weights) names_.push_back(finder.file_name(slot));
    table_ = program_.steps.front().weights[0];
    factors_ = program_.steps.front().weights[1];
    factors_name_ = names_[index(table_)];
    factors_name_.replace(factors_name_.rfind("weight"), std::string::npos, "factors");
  }

  QuantizeReport run() {
    QuantizeReport report;
    report.resumed_stages = state_.finished();
    hidden_ = state_.finished() > 0 ? state_.load_hidden(program_.hidden, options_.window)
                                    : embedded_text();
    for (std::int32_t stage = state_.finished(); stage <= layers(); ++stage) {
      stage_ = stage;
      NamedTensors out = stage < layers() ? round_layer() : round_ends();
      state_.finish_stage(out, hidden_, program_.hidden);
    }
    report.without_feedback = std::move(without_feedback_);
    report.written = write();
    state_.remove();
    return report;
  }

 private:
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  std::int32_t layers() const { return static_cast<std::int32_t>(program_.layers); }
  bool has_lm_head() const { return config_.task_head == TaskHead::causal_lm; }
  bool smooths_table() const { return options_.smoothing && config_.tied_head && has_lm_head(); }

  // Beside the target, which is checked before anything is written.
  static fs::path place_of_parts(const ModelFiles& source, const fs::path& target,
                                 const QuantizeOptions& options) {
    check_conversion(source, target, options.overwrite);
    if (options.calibrates() && options.calibration.empty()) {
      fail(ErrorCode::invalid_argument, "the calibration text is empty");
    }
    for (const RowFormat format : {options.weights, options.head}) {
      if (format != RowFormat::affine4 || options.decoded) continue;
      fail(ErrorCode::unsupported, "affine4 has no form in files: give --decoded, or take n4");
    }
    const fs::path folder = target.has_filename() ? target : target.parent_path();
    return folder.string() + ".parts";
  }

  void dither() {
    for (std::size_t id = 0; id < tensors_.size(); ++id) {
      if (tensors_[id].rank() != 2) continue;
      tensors_[id] = dithered(tensors_[id], *options_.dither + id, *pool_);
    }
  }

  // Everything that the parts depend on.
  Json settings() const {
    Json json = Json::object();
    json.set("model", fs::absolute(source_.path).lexically_normal().string());
    json.set("config", source_.config);
    json.set("weights", row_format_name(options_.weights));
    json.set("head", row_format_name(options_.head));
    json.set("smoothing", options_.smoothing);
    json.set("importance", options_.importance);
    json.set("feedback", options_.feedback);
    json.set("decoded", options_.decoded);
    if (options_.dither) json.set("dither", *options_.dither);
    json.set("window", options_.window);
    Json ids = Json::array();
    if (options_.calibrates()) {
      for (const std::int32_t id : options_.calibration) ids.push_back(id);
    }
    json.set("calibration", ids);
    return json;
  }

  void check_cancel() const {
    if (options_.cancel == nullptr || !options_.cancel->load(std::memory_order_relaxed)) return;
    fail(ErrorCode::cancelled,
         fmt::format("interrupted; the same command goes on from layer {} of {}", state_.finished(),
                     layers()));
  }
  void progress(double fraction_of_stage) const {
    check_cancel();
    if (options_.on_progress) options_.on_progress((stage_ + fraction_of_stage) / (layers() + 1));
  }

  // The embedding's output for the calibration text, in windows.
  HiddenRows embedded_text() const {
    HiddenRows hidden;
    if (!options_.calibrates()) return hidden;
    const auto width = index(static_cast<std::int32_t>(program_.hidden));
    std::vector<float> factors(width, 1.0f);
    if (factors_ != kNone) factors = tensors_[index(factors_)].to_floats();
    const auto window = static_cast<std::size_t>(options_.window);
    for (std::size_t i = 0; i < options_.calibration.size(); ++i) {
      const std::int32_t id = options_.calibration[i];
      if (id < 0 || id >= program_.vocab) {
        fail(ErrorCode::invalid_argument,
             fmt::format("calibration token {} is {}; the vocabulary has {}", i, id,
                         program_.vocab));
      }
      if (i % window == 0) hidden.windows.emplace_back();
      std::vector<float>& rows = hidden.windows.back();
      rows.resize(rows.size() + width);
      float* row = rows.data() + rows.size() - width;
      tensors_[index(table_)].decode_row(id, row);
      for (std::size_t k = 0; k < width; ++k) row[k] *= factors[k];
    }
    return hidden;
  }

  std::map<ValueId, Moments> calibrate(const ProgramPart& part, const FloatWeights& weights,
                                       const std::vector<LinearGroup>& groups) {
    if (!options_.calibrates()) return {};
    const FloatWeight no_table{{1, program_.hidden},
                               std::vector<float>(static_cast<std::size_t>(program_.hidden))};
    std::vector<Tensor> tensors;
    for (const WeightId id : part.weights) {
      tensors.push_back(id == kNone ? no_table.tensor() : weights.at(id).tensor());
    }
    return run_part(part, std::move(tensors), groups, hidden_, pool_,
                    [&](double fraction) { progress(0.5 * fraction); });
  }

  // Smooths the groups that can be, in the weights and in the moments.
  void smooth(const std::vector<LinearGroup>& groups, std::map<ValueId, Moments>& moments,
              FloatWeights& weights) {
    if (!options_.smoothing) return;
    for (const LinearGroup& group : groups) {
      if (!group.can_be_smoothed()) continue;
      Moments& of_input = moments.at(group.input);
      const std::vector<float> factors = smoothing_factors(of_input.squares());
      fold_factors(group, factors, weights);
      divide_moments(of_input, factors);
      for (const WeightId id : group.matrices) {
        if (weights.contains(id)) multiply_columns(weights.at(id), factors);
        if (id == table_ || is_head(id)) head_factors_ = factors;
      }
    }
  }
  bool is_head(WeightId id) const { return is_head_weight(program_.weights[index(id)].name); }

  NamedTensors round_layer() {
    const ProgramPart part = layer_part(program_, stage_);
    const std::vector<LinearGroup> groups = linear_groups(program_, stage_);
    FloatWeights weights;
    for (const WeightId id : part.weights) {
      if (id != kNone) weights.emplace(id, decode_weight(tensors_[index(id)], *pool_));
    }
    std::map<ValueId, Moments> moments = calibrate(part, weights, groups);
    smooth(groups, moments, weights);
    NamedTensors out;
    for (auto& [id, weight] : weights) {
      if (weight.shape.size() == 1) out.emplace_back(names_[index(id)], copied(weight));
    }
    std::size_t done = 0;
    for (const LinearGroup& group : groups) {
      Rounding rounding;
      const auto found = moments.find(group.input);
      if (found != moments.end()) calibrate_rounding(found->second, group, rounding);
      for (const WeightId id : group.matrices) {
        append(out, id, weights.at(id), rounding);
        progress(0.5 + 0.5 * static_cast<double>(++done) / static_cast<double>(weights.size()));
      }
      moments.erase(group.input);
    }
    return out;
  }

  // The importance of the input's columns; the factor takes the place of the moments.
  void calibrate_rounding(Moments& moments, const LinearGroup& group, Rounding& rounding) {
    const std::vector<float> squares = moments.squares();
    if (options_.importance) rounding.importance = squares;
    if (!options_.feedback || options_.weights == RowFormat::f32) return;
    const float mean =
        std::accumulate(squares.begin(), squares.end(), 0.0f) / static_cast<float>(squares.size());
    for (std::int64_t i = 0; i < moments.width; ++i) moments.at(i)[i] += kDamping * mean;
    if (factor_upper(moments.at(0), moments.width, *pool_)) {
      rounding.factor = moments.at(0);
    } else {
      for (const WeightId id : group.matrices) without_feedback_.push_back(names_[index(id)]);
    }
  }

  // Final norm, head and embedding.
  NamedTensors round_ends() {
    const std::vector<LinearGroup> groups = linear_groups(program_, kNone);
    const ProgramPart part = tail_part(program_);
    FloatWeights weights;
    for (const WeightId id : part.weights) {
      if (id != kNone) weights.emplace(id, decode_weight(tensors_[index(id)], *pool_));
    }
    if (has_lm_head()) {
      std::map<ValueId, Moments> moments = calibrate(part, weights, groups);
      smooth(groups, moments, weights);
    }
    NamedTensors out;
    for (auto& [id, weight] : weights) out.emplace_back(names_[index(id)], copied(weight));
    append_table(out, table_, smooths_table() ? head_factors_ : std::vector<float>());
    append_factors(out);
    for (const LinearGroup& group : groups) {
      for (const WeightId id : group.matrices) {
        if (id != table_) append_table(out, id, head_factors_);
      }
    }
    for (std::size_t id = 0; id < names_.size(); ++id) {
      const bool is_bias =
          program_.weights[id].shape.size() == 1 && is_head_weight(program_.weights[id].name);
      if (is_bias) out.emplace_back(names_[id], tensors_[id].to_f32());
    }
    return out;
  }

  // What makes the embedding of the table as it is stored.
  void append_factors(NamedTensors& out) {
    std::vector<float> factors;
    if (factors_ != kNone) factors = tensors_[index(factors_)].to_floats();
    if (smooths_table()) {
      factors.resize(head_factors_.size(), factors_ == kNone ? 1.0f : 0.0f);
      for (std::size_t k = 0; k < factors.size(); ++k) factors[k] /= head_factors_[k];
    }
    if (factors.empty()) return;
    out.emplace_back(factors_name_, Tensor::from_values({program_.hidden}, factors));
  }

  // A head or an embedding, some rows at a time.
  void append_table(NamedTensors& out, WeightId id, const std::vector<float>& factors) {
    const Tensor& tensor = tensors_[index(id)];
    const RowFormat format = has_lm_head() || id == table_ ? options_.head : RowFormat::f32;
    StoredMatrix stored(names_[index(id)], format, options_.decoded);
    for (std::int64_t first = 0; first < tensor.rows(); first += kRowsAtOnce) {
      const std::int64_t count = std::min(kRowsAtOnce, tensor.rows() - first);
      FloatWeight rows = decode_rows(tensor, first, count, *pool_);
      if (!factors.empty()) multiply_columns(rows, factors);
      stored.add(rows, {}, *pool_);
      progress(0.5 + 0.5 * static_cast<double>(first + count) / static_cast<double>(tensor.rows()));
    }
    stored.append_to(out);
  }

  void append(NamedTensors& out, WeightId id, const FloatWeight& weight, const Rounding& rounding) {
    StoredMatrix stored(names_[index(id)], options_.weights, options_.decoded);
    stored.add(weight, rounding, *pool_);
    stored.append_to(out);
  }

  static Tensor copied(const FloatWeight& weight) {
    return Tensor::from_values(weight.shape, weight.values);
  }

  // The parts as a model, with the small files of the source.
  ConvertReport write() const {
    ModelFiles parts = source_;
    parts.weights = state_.open_weights();
    if (smooths_table()) parts.config.set("embedding_factors", true);
    const bool coded = !options_.decoded &&
                       (options_.weights != RowFormat::f32 || options_.head != RowFormat::f32);
    if (coded) parts.config.set("quantization_config", own_quantization_config());
    ConvertOptions convert;
    convert.overwrite = options_.overwrite;
    convert.shard_bytes = options_.shard_bytes;
    convert.output.threads = options_.threads;
    convert.output.cancel = options_.cancel;
    return convert_model(parts, target_, convert);
  }

  const ModelFiles& source_;
  const fs::path target_;
  const QuantizeOptions& options_;
  const ModelConfig config_;
  const Program program_;
  std::shared_ptr<ThreadPool> pool_;
  QuantizeState state_;
  std::vector<Tensor> tensors_;     // by WeightId, as in the files
  std::vector<std::string> names_;  // in the files
  WeightId table_ = kNone;
  WeightId factors_ = kNone;  // of the source
  std::string factors_name_;
  HiddenRows hidden_;
  std::int32_t stage_ = 0;
  std::vector<float> head_factors_;
  std::vector<std::string> without_feedback_;
};

}  // namespace

QuantizeReport quantize_model(const ModelFiles& source, const fs::path& target,
                              const QuantizeOptions& options) {
  return Quantizing(source, target, options).run();
}

}  // namespace linnet
