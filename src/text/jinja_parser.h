// Tokens to a tree. Nesting is bounded, so that neither the parser nor the tree's walkers can run
// out of stack. Faults are SyntaxFault.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_lexer.h"

namespace linnet::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token next();
  bool skip_symbol(std::string_view spelling);
  bool skip_name(std::string_view spelling);
  Token expect_symbol(std::string_view spelling);
  Token expect(TokenKind kind, const std::string& described);
  [[noreturn]] void fail(std::string detail) const {
    throw SyntaxFault{current().at, std::move(detail)};
  }

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

  ExprPtr expression(bool with_condition = true);
  struct TupleRules {
    bool with_condition = true;
    bool in_parentheses = false;
    std::string_view end_name = {};  // a word that ends it
  };
  // One expression, or several with commas between as a tuple.
  ExprPtr tuple(const TupleRules& rules);
  ExprPtr tuple() { return tuple(TupleRules()); }
  // What may stand left of "=": a name, a tuple of targets, or a namespace's attribute.
  ExprPtr target(bool with_namespace, std::string_view end_name = {});
  std::string target_name();
  // "name(args) | name ..." of a filter block, whose input comes later.
  ExprPtr filter_chain(bool start_inline);

  // Notes for the macro whose body is being read.
  struct Uses {
    bool varargs = false;
    bool kwargs = false;
    bool caller = false;
  };
  Uses uses;

 private:
  ExprPtr make(Expr::Kind kind, std::uint32_t at, std::vector<ExprPtr> parts);
  void measure(Expr& expr) const;
  ExprPtr conditional();
  ExprPtr logical_or();
  ExprPtr logical_and();
  ExprPtr logical_not();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concatenation();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filter = true);
  ExprPtr primary();
  ExprPtr target_part(bool with_namespace);
  ExprPtr word();
  ExprPtr list();
  ExprPtr dict();
  ExprPtr postfix(ExprPtr value);
  ExprPtr filters_and_tests(ExprPtr value);
  ExprPtr subscript(ExprPtr value);
  ExprPtr bracketed(ExprPtr value, std::uint32_t at);
  ExprPtr call(ExprPtr value);
  CallArgs call_args();
  void call_arg(CallArgs& args);
  ExprPtr filter(ExprPtr value, bool start_inline);
  ExprPtr test(ExprPtr value);
  bool starts_test_argument() const;
  bool at_tuple_end(std::string_view end_name) const;

  TokenStream& stream_;
  int nesting_ = 0;
  friend class Nesting;
};

Body parse_template(std::string_view normalized_source);
// Unknown filters and tests are a fault, except where a condition decides whether they are met.
void check_names(const Body& body);

// How deep expressions and blocks may nest.
inline constexpr int kMaxNesting = 100;
inline constexpr int kMaxExpressionDepth = 300;

}  // namespace linnet::jinja
