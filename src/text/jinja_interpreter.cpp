#include "text/jinja_interpreter.h"

#include <fmt/core.h>

#include "text/jinja_format.h"
#include "text/jinja_globals.h"
#include "text/jinja_loop.h"

namespace linnet::jinja {

Interpreter::Interpreter(Runtime& runtime, Value context)
    : runtime_(runtime),
      heap_(runtime.heap),
      context_(std::move(context)),
      root_(Scope::inside(nullptr)),
      scope_(root_),
      out_(&output_) {
  heap_.at_end([scope = root_] { scope->clear(); });
}

void Interpreter::emit(const Text& text) {
  heap_.work(text.size());
  out_->append(text);
  if (out_ == &output_) {
    heap_.check_output(output_.size());
  } else {
    heap_.reserve(out_->size());
  }
}

Interpreter::Flow Interpreter::run(const Body& body) {
  for (const auto& statement : body) {
    const Flow flow = run(*statement);
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::run(const Stmt& statement) {
  const Heap::Level level(heap_);
  heap_.step();
  at_ = statement.at;
  switch (statement.kind) {
    case Stmt::Kind::data:
      emit(statement.constant.text());
      break;
    case Stmt::Kind::output:
      run_output(statement);
      break;
    case Stmt::Kind::condition:
      return run_condition(statement);
    case Stmt::Kind::loop:
      return run_loop(statement, eval(*statement.value), 0);
    case Stmt::Kind::set:
      assign(*statement.target, eval(*statement.value));
      break;
    case Stmt::Kind::set_block:
      return run_set_block(statement);
    case Stmt::Kind::with:
      return run_with(statement);
    case Stmt::Kind::macro:
      scope_->set(statement.name, make_macro(statement));
      break;
    case Stmt::Kind::call_block:
      run_call_block(statement);
      break;
    case Stmt::Kind::filter_block:
      return run_filter_block(statement);
    case Stmt::Kind::generation:
      run_generation(statement);
      break;
    case Stmt::Kind::break_loop:
      return Flow::break_loop;
    case Stmt::Kind::continue_loop:
      return Flow::continue_loop;
    case Stmt::Kind::autoescape:
      return run_autoescape(statement);
    case Stmt::Kind::block:
      return run_inside(statement.body, Scope::inside(root_));
    case Stmt::Kind::loader:
      type_error("no loader for this environment specified");
  }
  return Flow::normal;
}

void Interpreter::run_output(const Stmt& statement) {
  for (const ExprPtr& expression : statement.expressions) {
    const Value value = eval(*expression);
    at_ = statement.at;
    const Value shown = to_text_value(heap_, value);
    if (runtime_.autoescape && !shown.text().markup()) {
      emit(html_escape(shown.text()));
    } else {
      emit(shown.text());
    }
  }
}

Interpreter::Flow Interpreter::run_condition(const Stmt& statement) {
  for (const Stmt::Branch& branch : statement.branches) {
    if (!branch.condition || truth(eval(*branch.condition))) return run(branch.body);
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::run_inside(const Body& body, const ScopePtr& scope) {
  const ScopePtr outer = std::exchange(scope_, scope);
  const Flow flow = run(body);
  scope_ = outer;
  return flow;
}

Interpreter::Flow Interpreter::run_loop(const Stmt& statement, const Value& items, int depth) {
  at_ = statement.value->at;
  // A loop keeps its items, so that a template cannot build a chain of loops without end.
  const Value held = heap_.list(iterate(heap_, items), ListKind::generator);
  const auto loop =
      heap_.object<Loop>(held.depth() + 1, Loop::Place{*this, statement, scope_, depth}, held);
  const ScopePtr outer = scope_;
  bool completed = false;
  while (const auto item = loop->advance()) {
    heap_.step();
    scope_ = Scope::inside(outer);
    scope_->set("loop", Value(ObjectPtr(loop)));
    assign(*statement.target, *item);
    const Flow flow = run(statement.body);
    scope_ = outer;
    if (flow == Flow::break_loop) break;
    completed = completed || flow == Flow::normal;
  }
  return completed ? Flow::normal : run_inside(statement.otherwise, Scope::inside(outer));
}

bool Interpreter::passes(const Stmt& loop, const ScopePtr& outside, const Value& item) {
  if (!loop.test) return true;
  const ScopePtr outer = std::exchange(scope_, Scope::inside(outside));
  assign(*loop.target, item);
  const bool holds = truth(eval(*loop.test));
  scope_ = outer;
  return holds;
}

Text Interpreter::captured(const Body& body, Flow& flow) {
  Text text;
  Text* const outer = std::exchange(out_, &text);
  flow = run(body);
  out_ = outer;
  return text;
}

Text Interpreter::call_loop(const Stmt& loop, const ScopePtr& outside, const Value& items,
                            int depth) {
  const Heap::Level level(heap_);
  const ScopePtr outer = std::exchange(scope_, outside);
  Text text;
  Text* const outer_text = std::exchange(out_, &text);
  run_loop(loop, items, depth);
  out_ = outer_text;
  scope_ = outer;
  return text;
}

// A block that is left by break or continue sets nothing.
Interpreter::Flow Interpreter::run_set_block(const Stmt& statement) {
  const ScopePtr outer = std::exchange(scope_, Scope::inside(scope_));
  Flow flow = Flow::normal;
  Value value = heap_.text(captured(statement.body, flow));
  if (flow == Flow::normal && statement.filter) value = eval_filter(*statement.filter, &value);
  scope_ = outer;
  if (flow == Flow::normal) assign(*statement.target, value);
  return flow;
}

Interpreter::Flow Interpreter::run_with(const Stmt& statement) {
  std::vector<Value> values;
  for (const ExprPtr& expression : statement.expressions) values.push_back(eval(*expression));
  const ScopePtr outer = std::exchange(scope_, Scope::inside(scope_));
  for (std::size_t i = 0; i < values.size(); ++i) assign(*statement.targets[i], values[i]);
  const Flow flow = run(statement.body);
  scope_ = outer;
  return flow;
}

void Interpreter::run_call_block(const Stmt& statement) {
  const Value caller = make_macro(statement);
  const Value result = eval_call(*statement.value, &caller);
  emit(to_text(heap_, result));
}

Interpreter::Flow Interpreter::run_filter_block(const Stmt& statement) {
  const ScopePtr outer = std::exchange(scope_, Scope::inside(scope_));
  Flow flow = Flow::normal;
  const Value text = heap_.text(captured(statement.body, flow));
  if (flow == Flow::normal) {
    const Value result = eval_filter(*statement.filter, &text);
    emit(to_text(heap_, result));
  }
  scope_ = outer;
  return flow;
}

void Interpreter::run_generation(const Stmt& statement) {
  const std::size_t begin = output_.size();
  run_inside(statement.body, Scope::inside(scope_));
  // Inside of a captured text there is no place in the output yet.
  if (out_ == &output_) generation_spans_.push_back({begin, output_.size()});
}

Interpreter::Flow Interpreter::run_autoescape(const Stmt& statement) {
  const bool outer = std::exchange(runtime_.autoescape, truth(eval(*statement.value)));
  const Flow flow = run_inside(statement.body, Scope::inside(scope_));
  runtime_.autoescape = outer;
  return flow;
}

void Interpreter::assign(const Expr& target, const Value& value) {
  at_ = target.at;
  if (target.kind == Expr::Kind::name) {
    scope_->set(target.name, value);
    return;
  }
  if (target.kind == Expr::Kind::namespace_item) {
    const Value owner = eval_name(*target.parts[0]);
    auto* holder =
        owner.is(Type::object) ? dynamic_cast<Namespace*>(owner.object().get()) : nullptr;
    if (holder == nullptr) type_error("cannot assign attribute on non-namespace object");
    holder->set(heap_, target.name, value);
    return;
  }
  const std::vector<Value> parts = iterate(heap_, value);
  if (parts.size() != target.parts.size()) {
    value_error(fmt::format("{} values to unpack (expected {}, got {})",
                            parts.size() > target.parts.size() ? "too many" : "not enough",
                            target.parts.size(), parts.size()));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) assign(*target.parts[i], parts[i]);
}

}  // namespace linnet::jinja
