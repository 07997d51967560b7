// Looks up all filters and tests of a parsed template. A name that is not known fails the parse,
// but inside of a condition only when it is met: Jinja's rule.
#include <fmt/core.h>

#include "text/jinja_filters.h"
#include "text/jinja_parser.h"
#include "text/jinja_tests.h"

namespace linnet::jinja {
namespace {

class NameCheck {
 public:
  void body(const Body& statements, bool soft) {
    for (const auto& statement : statements) check(*statement, soft);
  }

 private:
  void check(const Stmt& statement, bool soft) {
    expr(statement.value, soft);
    expr(statement.test, false);
    expr(statement.filter, false);
    for (const ExprPtr& part : statement.expressions) expr(part, soft);
    for (const ExprPtr& part : statement.signature.defaults) expr(part, false);
    for (const Stmt::Branch& branch : statement.branches) {
      expr(branch.condition, true);
      body(branch.body, true);
    }
    body(statement.body, false);
    body(statement.otherwise, false);
  }

  void expr(const ExprPtr& expression, bool soft) {
    if (!expression) return;
    const Expr& e = *expression;
    if (e.kind == Expr::Kind::conditional) soft = true;
    if (!soft && e.kind == Expr::Kind::filter && find_filter(e.name) == nullptr) {
      throw SyntaxFault{e.at, fmt::format("No filter named '{}'.", e.name)};
    }
    if (!soft && e.kind == Expr::Kind::test && find_test(e.name) == nullptr) {
      throw SyntaxFault{e.at, fmt::format("No test named '{}'.", e.name)};
    }
    for (const ExprPtr& part : e.parts) expr(part, soft);
    for (const ExprPtr& part : e.args.positional) expr(part, soft);
    for (const auto& named : e.args.named) expr(named.second, soft);
    expr(e.args.star, soft);
    expr(e.args.double_star, soft);
  }
};

}  // namespace

void check_names(const Body& body) { NameCheck().body(body, false); }

}  // namespace linnet::jinja
