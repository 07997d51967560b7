#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/error.h"
#include "golden_runner/compare.h"
#include "golden_runner/models_suite.h"
#include "model/forward.h"
#include "model/model.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;
using linnet::Model;
using linnet::Tensor;

std::shared_ptr<const Model> open_model(const fs::path& path, const std::string& config_name) {
  // The cases of a folder share their models.
  static std::map<std::string, std::shared_ptr<const Model>> opened;
  auto& model = opened[path.string() + "|" + config_name];
  if (model == nullptr) {
    linnet::OpenOptions options;
    options.config_name = config_name;
    model = Model::load(linnet::open_model_files(path, options), load_options());
  }
  return model;
}

// The config of a case; a second one that must give the same is named beside it.
std::string config_of(const Json& head, const Json& test_case) {
  if (const Json* own = test_case.find("config")) return own->as_string("config");
  if (const Json* model = head.find("model")) {
    if (const Json* config = model->find("config")) return config->as_string("config");
  }
  return "config.json";
}

// What one case computes, laid out like the golden arrays: padding stays 0.
class ForwardRun {
 public:
  ForwardRun(const CaseContext& context, fs::path path, const std::string& config)
      : context_(context), path_(std::move(path)), model_(open_model(path_, config)) {
    read_inputs();
    std::int64_t first = 0;
    for (const std::int64_t columns : chunks()) {
      run_columns(first, columns);
      first += columns;
    }
  }

  // A factor on cos and sin that the case gives as a number.
  void compare_attention_factor() {
    const Json* expected = context_.test_case.find("attention_factor");
    if (expected == nullptr) return;
    read_frequencies();
    const auto wanted = static_cast<float>(expected->as_double());
    context_.judge("attention_factor", results_["attention_factor"], {&wanted, 1});
  }

  // The lists per layer that the config must come to.
  void compare_layers() {
    const Json* lists = context_.test_case.find("resolved");
    if (lists == nullptr) return;
    const auto& config = model_->config();
    bool same = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(config.layers); ++i) {
      const bool rotates = lists->at("no_rope_layers").as_array().at(i).as_int() != 0;
      const bool slides = lists->at("layer_types").as_array().at(i).as_string() != "full_attention";
      same = same && rotates == config.layer_has_rope[i] && slides == (config.layer_window[i] > 0);
    }
    const std::string name = context_.name() + "/resolved";
    same ? context_.report.pass(name) : context_.report.fail(name, "other layers rotate or slide");
  }

  void compare_all() {
    compare_attention_factor();
    compare_layers();
    for (const auto& [field, entry] : context_.test_case.at("expected").as_object()) {
      const std::string name = context_.name() + "/" + field;
      if (field.starts_with("logits_all_")) continue;  // lower precision, for information only
      if (field == "logits_f64") continue;             // with logits
      if (field == "bumblebee_row_valid") continue;    // with logits_bumblebee
      const std::vector<float>* got = result(field);
      if (got == nullptr) {
        context_.report.skip(name, "output \"" + field + "\" is not built yet");
        continue;
      }
      compare(field, *got);
    }
  }

 private:
  void read_inputs() {
    const auto array = [&](std::string_view field) {
      return find_array(context_.test_case, "inputs", field, context_.arrays);
    };
    const auto ids = array("input_ids"), embeddings = array("inputs_embeds");
    const Tensor& shaped = ids ? *ids : embeddings.value();
    batch_ = shaped.dim(0);
    length_ = shaped.dim(1);
    if (ids) tokens_ = ids->to_ints();
    if (embeddings) embeddings_ = embeddings->to_floats();
    if (const auto mask = array("attention_mask")) mask_ = mask->to_ints();
    if (const auto positions = array("position_ids")) positions_ = positions->to_ints();
    if (const auto head_mask = array("attention_head_mask")) head_mask_ = head_mask->to_floats();
    documents_ = option_list("document_lengths");
    const std::size_t sequences =
        documents_.empty() ? static_cast<std::size_t>(batch_) : documents_.size();
    for (std::size_t i = 0; i < sequences; ++i) caches_.push_back(model_->make_cache());
  }

  const Json* option(std::string_view name) const {
    const Json* options = context_.test_case.find("options");
    return options != nullptr ? options->find(name) : nullptr;
  }

  std::vector<std::int64_t> option_list(std::string_view name) const {
    std::vector<std::int64_t> list;
    if (const Json* values = option(name)) {
      for (const Json& item : values->as_array()) list.push_back(item.as_int());
    }
    return list;
  }

  std::vector<std::int64_t> chunks() const {
    const auto list = option_list("chunks");
    return list.empty() ? std::vector{length_} : list;
  }

  // The columns [first, first + count) of [batch, length, width].
  template <typename T>
  std::vector<T> cut(const std::vector<T>& whole, std::int64_t first, std::int64_t count,
                     std::int64_t width = 1) const {
    std::vector<T> part;
    if (whole.empty()) return part;
    for (std::int64_t row = 0; row < batch_; ++row) {
      const auto begin = whole.begin() + (row * length_ + first) * width;
      part.insert(part.end(), begin, begin + count * width);
    }
    return part;
  }

  void run_columns(std::int64_t first, std::int64_t count) {
    const std::int64_t hidden = model_->config().hidden;
    const auto tokens = cut(tokens_, first, count), mask = cut(mask_, first, count);
    const auto positions = cut(positions_, first, count);
    const auto embeddings = cut(embeddings_, first, count, hidden);
    linnet::ForwardRequest request;
    request.input = {batch_, count, hidden, tokens, embeddings, mask, positions, first, documents_};
    request.caches = caches_;
    request.head_mask = head_mask_;
    if (const Json* keep = option("logits_to_keep")) request.last_columns = keep->as_int();
    const auto wants = [&](std::string_view field) {
      const Json* expected = context_.test_case.find("expected");
      return expected != nullptr && expected->find(field) != nullptr;
    };
    // Only where asked for: not every lane has them.
    const bool is_bare = model_->config().task_head == linnet::TaskHead::none;
    request.hidden_states = wants("hidden_states") || wants("last_layer_raw") ||
                            (wants("last_hidden_state") && !is_bare);
    request.attentions = wants("attentions");
    keep(linnet::forward(*model_, request), first);
    if (model_->config().task_head == linnet::TaskHead::sequence_classification) {
      request.pooling = linnet::PoolingRule::count_not_pad;
      request.caches = {};
      results_["logits_bumblebee"] = linnet::forward(*model_, request).logits;
    }
  }

  void keep(const linnet::ForwardOutputs& outputs, std::int64_t first) {
    const bool whole = outputs.columns != length_ && chunks().size() == 1;
    if (whole || !outputs.pooled_columns.empty()) {
      results_["logits"] = outputs.logits;
    } else {
      const auto place = [&](const std::string& field, const std::vector<float>& part) {
        if (!part.empty()) put_columns(results_[field], part, first, outputs.columns);
      };
      place("logits", outputs.logits);
      // Of the bare decoder the output is the last hidden state.
      place("last_hidden_state", outputs.logits);
      place("start_logits", outputs.start_logits);
      place("end_logits", outputs.end_logits);
    }
    // The attentions of several calls do not lie side by side.
    results_["attentions"] = outputs.attentions;
    if (!outputs.hidden_states.empty()) split_hidden_states(outputs.hidden_states);
  }

  // Into columns `first` on of [batch, length, ...].
  void put_columns(std::vector<float>& whole, const std::vector<float>& part, std::int64_t first,
                   std::int64_t count) const {
    const auto width = static_cast<std::int64_t>(part.size()) / (batch_ * count);
    whole.resize(static_cast<std::size_t>(batch_ * length_ * width));
    for (std::int64_t row = 0; row < batch_; ++row) {
      std::copy_n(part.begin() + row * count * width, count * width,
                  whole.begin() + (row * length_ + first) * width);
    }
  }

  // From Bumblebee's list, which is ours, to transformers' and the last layer's raw output.
  void split_hidden_states(const std::vector<float>& all) {
    const std::int64_t planes = model_->config().layers + 2;
    const auto size = static_cast<std::ptrdiff_t>(all.size()) / planes;
    results_["last_layer_raw"] = {all.end() - 2 * size, all.end() - size};
    results_["last_hidden_state"] = {all.end() - size, all.end()};
    auto& states = results_["hidden_states"];
    states = {all.begin(), all.end() - 2 * size};
    states.insert(states.end(), all.end() - size, all.end());
  }

  // The cache as [layers, batch, kv_heads, T, head_dim].
  void read_cache(const std::string& field) {
    const auto& config = model_->config();
    std::vector<float>& out = results_[field];
    const auto width = static_cast<std::size_t>(config.kv_heads * config.head_dim);
    std::vector<float> keys(width), values(width);
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      for (linnet::KvCache& cache : caches_) {
        for (std::int64_t head = 0; head < config.kv_heads; ++head) {
          for (std::int64_t i = 0; i < cache.length(); ++i) {
            model_->lane().read_cache(cache, layer, i, keys.data(), values.data());
            const float* row = (field == "cache_keys" ? keys : values).data();
            out.insert(out.end(), row + head * config.head_dim, row + (head + 1) * config.head_dim);
          }
        }
      }
    }
  }

  // Of a sequence as long as the input.
  void read_frequencies() {
    const linnet::RopeTable& table = model_->program().ropes.at(0);
    const auto used = linnet::rope_table_for(table, length_);
    results_["inv_freq"] = {used.inverse_frequency.begin(), used.inverse_frequency.end()};
    results_["attention_factor"] = {static_cast<float>(used.attention_factor)};
  }

  const std::vector<float>* result(const std::string& field) {
    if (field == "cache_keys" || field == "cache_values") read_cache(field);
    if (field == "inv_freq") read_frequencies();
    if (field.starts_with("weight.")) results_[field] = weight_rows(field.substr(7));
    const auto found = results_.find(field);
    return found != results_.end() ? &found->second : nullptr;
  }

  // A tensor as it was loaded, or as many of its first rows as are expected.
  std::vector<float> weight_rows(std::string name) const {
    constexpr std::string_view kFirstRows = ".first_rows";
    const auto expected =
        find_array(context_.test_case, "expected", "weight." + name, context_.arrays);
    if (name.ends_with(kFirstRows)) name.resize(name.size() - kFirstRows.size());
    std::vector<float> values = linnet::open_model_files(path_).tensor(name).to_floats();
    values.resize(std::min(values.size(), static_cast<std::size_t>(expected->elements())));
    return values;
  }

  void compare(const std::string& field, std::vector<float> got) const {
    const auto expected = [&](const std::string& name) {
      const auto array = find_array(context_.test_case, "expected", name, context_.arrays);
      return array ? array->to_floats() : std::vector<float>{};
    };
    std::vector<float> wanted = expected(field);
    if (field == "logits_bumblebee") drop_invalid_rows(got, wanted);
    // Far positions: either kind of angle will do.
    const bool either = field == "logits";
    context_.judge(field, got, wanted, either ? expected("logits_f64") : std::vector<float>{});
  }

  // Where Bumblebee's rule points at a masked column its value is not defined.
  void drop_invalid_rows(std::vector<float>& got, std::vector<float>& wanted) const {
    const auto valid =
        find_array(context_.test_case, "expected", "bumblebee_row_valid", context_.arrays)
            ->to_ints();
    const std::size_t width = wanted.size() / valid.size();
    for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
      if (valid[i / width] == 0) got[i] = wanted[i] = 0;
    }
  }

  const CaseContext& context_;
  fs::path path_;
  std::shared_ptr<const Model> model_;
  std::int64_t batch_ = 0, length_ = 0;
  std::vector<std::int64_t> tokens_, mask_, positions_, documents_;
  std::vector<float> embeddings_, head_mask_;
  std::vector<linnet::KvCache> caches_;
  std::map<std::string, std::vector<float>> results_;
};

// Input that must be refused, whatever the words.
void run_error_case(const CaseContext& context) {
  try {
    ForwardRun run(context, context.folder, config_of(context.head, context.test_case));
  } catch (const linnet::Error& error) {
    if (error.code() == linnet::ErrorCode::invalid_argument) {
      return context.report.pass(context.name());
    }
    return context.report.fail(context.name(), error.what());
  }
  context.report.fail(context.name(), "it was not refused");
}

}  // namespace

bool run_forward_case(const CaseContext& context) {
  const std::string& kind = context.kind();
  if (kind == "error") return run_error_case(context), true;
  if (kind != "forward" && kind != "forward-steps" && kind != "gguf-forward") return false;
  try {
    const fs::path path = kind == "gguf-forward"
                              ? context.folder / context.test_case.at("file").as_string("file")
                              : context.folder;
    ForwardRun run(context, path, config_of(context.head, context.test_case));
    run.compare_all();
    if (const Json* other = context.test_case.find("config_v4")) {
      ForwardRun(context, path, other->as_string("config_v4")).compare_all();
    }
  } catch (const linnet::Error& error) {
    if (error.code() != linnet::ErrorCode::unsupported) throw;
    context.report.skip(context.name(), error.what());
  }
  return true;
}

void run_other_spelling(const fs::path& folder, const Json& head, Report& report) {
  const Json* model = head.find("model");
  const Json* other = model != nullptr ? model->find("other_spelling") : nullptr;
  if (other == nullptr) return;
  const std::string text = other->as_string();
  const std::string config_name = text.substr(0, text.find(' '));
  const auto run = [&](const std::string& name) {
    const auto loaded = open_model(folder, name);
    linnet::KvCache cache = loaded->make_cache();
    const std::int32_t tokens[] = {1, 5, 9, 7}, positions[] = {0, 1, 2, 3}, selected[] = {3};
    const linnet::SequenceRows rows[] = {{&cache, 4}};
    linnet::Batch batch;
    batch.tokens = tokens;
    batch.positions = positions;
    batch.sequences = rows;
    batch.selected = selected;
    return loaded->run(batch);
  };
  const auto fault = difference(run(config_name), run("config.json"), {0, 0});
  fault ? report.fail(config_name, *fault) : report.pass(config_name);
}

}  // namespace golden
