// Walks a parsed template and writes its output. One interpreter serves one render.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_runtime.h"
#include "text/jinja_scope.h"

namespace linnet::jinja {

class Interpreter {
 public:
  // `context` is a dict: the variables that the host gives.
  Interpreter(Runtime& runtime, Value context);

  void run_template(const Body& body) { run(body); }
  const Text& output() const { return output_; }
  const std::vector<Span>& generation_spans() const { return generation_spans_; }
  // Where in the source the last fault arose.
  std::uint32_t at() const { return at_; }

  // For loops and macros, whose bodies run when they are called.
  Text call_macro(const Stmt& macro, const ScopePtr& closure, const Args& args);
  Text call_loop(const Stmt& loop, const ScopePtr& outside, const Value& items, int depth);
  // Whether an item passes the loop's `if`.
  bool passes(const Stmt& loop, const ScopePtr& outside, const Value& item);

 private:
  enum class Flow { normal, break_loop, continue_loop };

  Flow run(const Body& body);
  Flow run(const Stmt& statement);
  void run_output(const Stmt& statement);
  Flow run_condition(const Stmt& statement);
  Flow run_loop(const Stmt& statement, const Value& items, int depth);
  Flow run_inside(const Body& body, const ScopePtr& scope);
  Flow run_set_block(const Stmt& statement);
  Flow run_with(const Stmt& statement);
  void run_call_block(const Stmt& statement);
  Flow run_filter_block(const Stmt& statement);
  void run_generation(const Stmt& statement);
  Flow run_autoescape(const Stmt& statement);
  Text captured(const Body& body, Flow& flow);
  void assign(const Expr& target, const Value& value);
  Value make_macro(const Stmt& statement);
  void bind_arguments(const Stmt& macro, const Args& args);
  void emit(const Text& text);

  Value eval(const Expr& expr);
  Value eval_name(const Expr& expr);
  Value eval_list(const Expr& expr);
  Value eval_dict(const Expr& expr);
  Value eval_binary(const Expr& expr);
  Value eval_concat(const Expr& expr);
  Value eval_compare(const Expr& expr);
  Value eval_conditional(const Expr& expr);
  Value eval_slice(const Expr& expr);
  Value eval_call(const Expr& expr, const Value* caller);
  Value eval_filter(const Expr& expr, const Value* input);
  Value eval_test(const Expr& expr);
  bool compare(const Value& a, Comparison comparison, const Value& b);
  Args eval_args(const CallArgs& args);

  Runtime& runtime_;
  Heap& heap_;
  Value context_;
  std::map<std::string_view, Value> globals_;  // those already asked for
  ScopePtr root_;
  ScopePtr scope_;
  Text output_;
  Text* out_;
  std::vector<Span> generation_spans_;
  std::uint32_t at_ = 0;
};

}  // namespace linnet::jinja
