#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "golden_runner/compare.h"
#include "golden_runner/models_suite.h"
#include "model/model.h"
#include "model/padded_batch.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::Json;
using linnet::Model;
using linnet::Op;
using linnet::Step;
using linnet::Tensor;

std::shared_ptr<const Model> open_model(const fs::path& path, const std::string& config_name) {
  // The cases of a folder share their models.
  static std::map<std::string, std::shared_ptr<const Model>> opened;
  auto& model = opened[path.string() + "|" + config_name];
  if (model == nullptr) {
    linnet::OpenOptions options;
    options.config_name = config_name;
    model = Model::load(linnet::open_model_files(path, options));
  }
  return model;
}

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
  ForwardRun(const CaseContext& context, fs::path path)
      : context_(context),
        path_(std::move(path)),
        model_(open_model(path_, config_of(context.head, context.test_case))) {
    read_inputs();
    std::int64_t first = 0;
    for (const std::int64_t columns : chunks()) {
      run_columns(first, first + columns);
      first += columns;
    }
  }

  void compare_all() {
    for (const auto& [field, entry] : context_.test_case.at("expected").as_object()) {
      const std::string name = context_.name() + "/" + field;
      if (field.starts_with("logits_all_")) continue;  // lower precision, for information only
      if (field == "logits_f64") continue;             // with logits
      const std::vector<float>* got = result(field);
      if (got == nullptr) {
        context_.report.skip(name, "output \"" + field + "\" is not built yet");
        continue;
      }
      const auto fault = compare(field, *got);
      fault ? context_.report.fail(name, *fault) : context_.report.pass(name);
    }
  }

 private:
  void read_inputs() {
    const auto array = [&](std::string_view field) {
      return find_array(context_.test_case, "inputs", field, context_.arrays);
    };
    const auto ids = array("input_ids"), embeddings = array("inputs_embeds");
    const Tensor& shaped = ids ? *ids : embeddings.value();
    padded_.batch = shaped.dim(0);
    padded_.length = shaped.dim(1);
    padded_.hidden = model_->config().hidden;
    if (ids) tokens_ = ids->to_ints();
    if (embeddings) embeddings_ = embeddings->to_floats();
    if (const auto mask = array("attention_mask")) mask_ = mask->to_ints();
    if (const auto positions = array("position_ids")) positions_ = positions->to_ints();
    if (const auto head_mask = array("attention_head_mask")) head_mask_ = head_mask->to_floats();
    padded_.tokens = tokens_;
    padded_.embeddings = embeddings_;
    padded_.mask = mask_;
    padded_.positions = positions_;
    for (std::int64_t i = 0; i < padded_.batch * std::max<std::int64_t>(1, documents()); ++i) {
      caches_.push_back(model_->make_cache());
    }
  }

  std::int64_t documents() const {
    const Json* lengths = option("document_lengths");
    return lengths != nullptr ? static_cast<std::int64_t>(lengths->size()) : 0;
  }

  const Json* option(std::string_view name) const {
    const Json* options = context_.test_case.find("options");
    return options != nullptr ? options->find(name) : nullptr;
  }

  std::vector<std::int64_t> chunks() const {
    const Json* list = option("chunks");
    if (list == nullptr) return {padded_.length};
    std::vector<std::int64_t> columns;
    for (const Json& item : list->as_array()) columns.push_back(item.as_int());
    return columns;
  }

  // Batch row i is sequence i; or, with packed documents, document i of the only row.
  std::vector<linnet::SequenceRows> sequences(const linnet::RaggedBatch& ragged) {
    std::vector<linnet::SequenceRows> list;
    if (documents() > 0) {
      const Json::Array& lengths = option("document_lengths")->as_array();
      for (std::size_t i = 0; i < lengths.size(); ++i)
        list.push_back({&caches_[i], lengths[i].as_int()});
      return list;
    }
    for (std::size_t i = 0; i < ragged.row_counts.size(); ++i) {
      list.push_back({&caches_[i], ragged.row_counts[i]});
    }
    return list;
  }

  void run_columns(std::int64_t first, std::int64_t last) {
    const linnet::RaggedBatch ragged = linnet::make_ragged(padded_, first, last);
    const auto lists = sequences(ragged);
    std::vector<std::int32_t> selected(ragged.positions.size());
    for (std::size_t i = 0; i < selected.size(); ++i) selected[i] = static_cast<std::int32_t>(i);
    linnet::Batch batch;
    batch.tokens = ragged.tokens;
    batch.embeddings = ragged.embeddings;
    batch.positions = ragged.positions;
    batch.columns = ragged.columns;
    batch.sequences = lists;
    batch.selected = selected;
    batch.head_mask = head_mask_;
    linnet::RunOptions options;
    options.on_value = [&](const Step& step, std::span<const float> rows, std::int64_t width) {
      keep_value(step, rows, width, ragged);
    };
    options.on_attention = [&](const Step& step, std::int64_t row, std::int64_t head,
                               std::span<const float> p) {
      keep_attention(step, row, head, p, ragged);
    };
    const std::vector<float> output = model_->run(batch, options);
    scatter(results_["logits"], output, static_cast<std::int64_t>(output.size() / selected.size()),
            ragged, 0, 1);
  }

  // Puts ragged rows to their places in plane `plane` of [planes, batch, length, width].
  void scatter(std::vector<float>& out, std::span<const float> rows, std::int64_t width,
               const linnet::RaggedBatch& ragged, std::int64_t plane, std::int64_t planes) const {
    const std::int64_t size = padded_.batch * padded_.length * width;
    out.resize(static_cast<std::size_t>(planes * size));
    for (std::size_t i = 0; i < ragged.source_rows.size(); ++i) {
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i) * width, width,
                  out.begin() + plane * size + ragged.source_rows[i] * width);
    }
  }

  void keep_value(const Step& step, std::span<const float> rows, std::int64_t width,
                  const linnet::RaggedBatch& ragged) {
    const linnet::Program& program = model_->program();
    const std::string& name = program.values[static_cast<std::size_t>(step.output)].name;
    const std::int64_t layers = model_->config().layers, planes = layers + 1;
    if (name == "embedding") scatter(results_["hidden_states"], rows, width, ragged, 0, planes);
    if (name == "normed") {
      scatter(results_["hidden_states"], rows, width, ragged, layers, planes);
      scatter(results_["last_hidden_state"], rows, width, ragged, 0, 1);
    }
    if (step.op != Op::add || !name.ends_with(".output")) return;
    if (step.layer + 1 < layers) {
      scatter(results_["hidden_states"], rows, width, ragged, step.layer + 1, planes);
    } else {
      scatter(results_["last_layer_raw"], rows, width, ragged, 0, 1);
    }
  }

  // [layers, batch, heads, query, key]; the keys of a sequence are its unmasked columns in order.
  void keep_attention(const Step& step, std::int64_t row, std::int64_t head,
                      std::span<const float> p, const linnet::RaggedBatch& ragged) {
    const std::lock_guard lock(mutex_);
    const auto& config = model_->config();
    std::vector<float>& out = results_["attentions"];
    const std::int64_t length = padded_.length;
    out.resize(
        static_cast<std::size_t>(config.layers * padded_.batch * config.heads * length * length));
    const std::int64_t source = ragged.source_rows[static_cast<std::size_t>(row)];
    const std::int64_t batch_row = source / length, query = source % length;
    const auto place =
        ((step.layer * padded_.batch + batch_row) * config.heads + head) * length + query;
    std::size_t key = 0;
    for (std::int64_t column = 0; column < length && key < p.size(); ++column) {
      const auto cell = static_cast<std::size_t>(batch_row * length + column);
      if (!mask_.empty() && mask_[cell] == 0) continue;
      out[static_cast<std::size_t>(place * length + column)] = p[key++];
    }
  }

  // The cache as [layers, batch, kv_heads, T, head_dim].
  void read_cache(const std::string& field) {
    const auto& config = model_->config();
    std::vector<float>& out = results_[field];
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      for (linnet::KvCache& cache : caches_) {
        for (std::int64_t head = 0; head < config.kv_heads; ++head) {
          for (std::int64_t i = 0; i < cache.length(); ++i) {
            const float* row = field == "cache_keys" ? cache.key(layer, i) : cache.value(layer, i);
            out.insert(out.end(), row + head * config.head_dim, row + (head + 1) * config.head_dim);
          }
        }
      }
    }
  }

  const std::vector<float>* result(const std::string& field) {
    if (field == "cache_keys" || field == "cache_values") read_cache(field);
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

  std::vector<float> kept_rows(std::vector<float> logits) const {
    const Json* keep = option("logits_to_keep");
    if (keep == nullptr) return logits;
    const std::int64_t width =
        static_cast<std::int64_t>(logits.size()) / (padded_.batch * padded_.length);
    std::vector<float> kept;
    for (std::int64_t row = 0; row < padded_.batch; ++row) {
      const auto end = logits.begin() + (row + 1) * padded_.length * width;
      kept.insert(kept.end(), end - keep->as_int() * width, end);
    }
    return kept;
  }

  std::optional<std::string> compare(const std::string& field,
                                     const std::vector<float>& got) const {
    const Tolerance tolerance = Tolerance::of(context_.head, context_.test_case);
    const auto expected = [&](const std::string& name) {
      return find_array(context_.test_case, "expected", name, context_.arrays);
    };
    const std::vector<float> rows = field == "logits" ? kept_rows(got) : got;
    auto fault = difference(rows, expected(field)->to_floats(), tolerance);
    if (fault && field == "logits") {
      // Far positions: either kind of angle will do.
      const auto exact = expected("logits_f64");
      if (exact && !difference(rows, exact->to_floats(), tolerance)) return std::nullopt;
    }
    return fault;
  }

  const CaseContext& context_;
  fs::path path_;
  std::shared_ptr<const Model> model_;
  linnet::PaddedBatch padded_;
  std::vector<std::int64_t> tokens_, mask_, positions_;
  std::vector<float> embeddings_, head_mask_;
  std::vector<linnet::KvCache> caches_;
  std::map<std::string, std::vector<float>> results_;
  std::mutex mutex_;
};

}  // namespace

bool run_forward_case(const CaseContext& context) {
  const std::string& kind = context.kind();
  if (kind != "forward" && kind != "forward-steps" && kind != "gguf-forward") return false;
  try {
    const fs::path path = kind == "gguf-forward"
                              ? context.folder / context.test_case.at("file").as_string("file")
                              : context.folder;
    ForwardRun run(context, path);
    run.compare_all();
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
