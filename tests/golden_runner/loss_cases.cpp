// Losses and the gradients of the logits, on the models of the folders beside this one.

#include <memory>

#include "golden_runner/compare.h"
#include "golden_runner/models_suite.h"
#include "model/forward.h"
#include "model/losses.h"

namespace fs = std::filesystem;

namespace golden {
namespace {

using linnet::ForwardOutputs;
using linnet::Json;

class LossCase {
 public:
  explicit LossCase(const CaseContext& context) : context_(context) {
    const fs::path folder =
        context.folder.parent_path() / context.test_case.at("model").as_string("model");
    model_ = linnet::Model::load(linnet::open_model_files(folder), load_options());
    run_model();
  }

  void judge() {
    const std::string head = context_.test_case.at("head").as_string("head");
    if (head == "causal_lm") return judge_causal();
    if (head == "question_answering") return judge_span();
    if (head == "token_classification") {
      return judge_loss(linnet::cross_entropy(outputs_.logits, outputs_.width, ints("labels")));
    }
    judge_sequence(context_.test_case.at("problem_type").as_string("problem_type"));
  }

 private:
  std::vector<std::int64_t> ints(std::string_view field) const {
    const auto array = find_array(context_.test_case, "inputs", field, context_.arrays);
    return array ? array->to_ints() : std::vector<std::int64_t>{};
  }

  void run_model() {
    const auto ids = find_array(context_.test_case, "inputs", "input_ids", context_.arrays).value();
    const auto tokens = ids.to_ints(), mask = ints("attention_mask");
    linnet::ForwardRequest request;
    request.input.batch = ids.dim(0);
    request.input.length = ids.dim(1);
    request.input.tokens = tokens;
    request.input.mask = mask;
    outputs_ = linnet::forward(*model_, request);
  }

  void check(const std::string& field, std::span<const float> got) const {
    const auto expected = find_array(context_.test_case, "expected", field, context_.arrays);
    context_.judge(field, got, expected.value().to_floats());
  }

  void check_value(double value) const {
    const auto loss = static_cast<float>(value);
    check("loss", {&loss, 1});
  }

  void judge_loss(const linnet::Loss& loss) const {
    check_value(loss.value);
    check("grad_logits", loss.gradient);
  }

  void judge_causal() const {
    const std::vector<std::int64_t> lengths(static_cast<std::size_t>(outputs_.batch),
                                            outputs_.columns);
    const auto targets = linnet::next_token_targets(ints("labels"), lengths);
    const Json* items = context_.test_case.at("options").find("num_items_in_batch");
    const double divisor = items != nullptr ? items->as_double("num_items_in_batch") : 0;
    const auto loss = linnet::cross_entropy(outputs_.logits, outputs_.width, targets, divisor);
    judge_loss(loss);
    // The golden array leaves out each sequence's last column, which predicts nothing.
    std::vector<float> terms;
    for (std::size_t i = 0; i < loss.terms.size(); ++i) {
      const bool is_last = (static_cast<std::int64_t>(i) + 1) % outputs_.columns == 0;
      if (!is_last) terms.push_back(loss.terms[i]);
    }
    check("token_loss", terms);
  }

  void judge_span() const {
    const auto loss =
        linnet::span_cross_entropy(outputs_.start_logits, outputs_.end_logits, outputs_.columns,
                                   ints("start_positions"), ints("end_positions"));
    check("start_logits", outputs_.start_logits);
    check("end_logits", outputs_.end_logits);
    check_value(loss.value());
    check("grad_start_logits", loss.start.gradient);
    check("grad_end_logits", loss.end.gradient);
  }

  void judge_sequence(const std::string& problem) {
    const std::int64_t labels = context_.test_case.at("num_labels").as_int("num_labels");
    // Fewer labels than the model has: the first rows of the head's matrix.
    std::vector<float> logits;
    for (std::int64_t row = 0; row < outputs_.batch; ++row) {
      const auto first = outputs_.logits.begin() + row * outputs_.width;
      logits.insert(logits.end(), first, first + labels);
    }
    check("logits", logits);
    if (problem == "single_label_classification") {
      return judge_loss(linnet::cross_entropy(logits, labels, ints("labels")));
    }
    const auto targets =
        find_array(context_.test_case, "inputs", "labels", context_.arrays)->to_floats();
    judge_loss(problem == "regression" ? linnet::squared_error(logits, targets)
                                       : linnet::binary_cross_entropy(logits, targets));
  }

  const CaseContext& context_;
  std::shared_ptr<const linnet::Model> model_;
  ForwardOutputs outputs_;
};

}  // namespace

bool run_loss_case(const CaseContext& context) {
  if (context.kind() != "loss") return false;
  LossCase(context).judge();
  return true;
}

}  // namespace golden
