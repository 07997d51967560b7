#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_parser.h"

namespace linnet::jinja {

// One more level of recursion in the parser.
class Nesting {
 public:
  explicit Nesting(ExpressionParser& parser) : parser_(parser) {
    if (++parser_.nesting_ > kMaxNesting) parser_.stream_.fail("expressions are nested too deeply");
  }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  ExpressionParser& parser_;
};

Token TokenStream::next() {
  Token token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenStream::skip_symbol(std::string_view spelling) {
  if (!current().is_symbol(spelling)) return false;
  next();
  return true;
}

bool TokenStream::skip_name(std::string_view spelling) {
  if (!current().is_name(spelling)) return false;
  next();
  return true;
}

Token TokenStream::expect_symbol(std::string_view spelling) {
  if (!current().is_symbol(spelling)) {
    fail(fmt::format("expected token '{}', got '{}'", spelling, current().described()));
  }
  return next();
}

Token TokenStream::expect(TokenKind kind, const std::string& described) {
  if (current().kind != kind) {
    fail(current().kind == TokenKind::end
             ? fmt::format("unexpected end of template, expected '{}'", described)
             : fmt::format("expected token '{}', got '{}'", described, current().described()));
  }
  return next();
}

namespace {

ExprPtr constant(std::uint32_t at, Value value) {
  auto made = std::make_unique<Expr>();
  made->kind = Expr::Kind::constant;
  made->at = at;
  made->constant = std::move(value);
  return made;
}

std::vector<ExprPtr> pack(ExprPtr a, ExprPtr b = nullptr, ExprPtr c = nullptr) {
  std::vector<ExprPtr> parts;
  parts.push_back(std::move(a));
  if (b) parts.push_back(std::move(b));
  if (c) parts.push_back(std::move(c));
  return parts;
}

}  // namespace

void ExpressionParser::measure(Expr& expr) const {
  int below = 0;
  const auto look = [&](const ExprPtr& part) {
    if (part) below = std::max(below, part->depth);
  };
  for (const ExprPtr& part : expr.parts) look(part);
  for (const ExprPtr& part : expr.args.positional) look(part);
  for (const auto& named : expr.args.named) look(named.second);
  look(expr.args.star);
  look(expr.args.double_star);
  expr.depth = below + 1;
  if (expr.depth > kMaxExpressionDepth) stream_.fail("the expression is too complex");
}

ExprPtr ExpressionParser::make(Expr::Kind kind, std::uint32_t at, std::vector<ExprPtr> parts) {
  auto made = std::make_unique<Expr>();
  made->kind = kind;
  made->at = at;
  made->parts = std::move(parts);
  measure(*made);
  return made;
}

ExprPtr ExpressionParser::expression(bool with_condition) {
  const Nesting level(*this);
  return with_condition ? conditional() : logical_or();
}

ExprPtr ExpressionParser::conditional() {
  const std::uint32_t at = stream_.current().at;
  const Nesting level(*this);
  ExprPtr value = logical_or();
  while (stream_.skip_name("if")) {
    ExprPtr condition = logical_or();
    ExprPtr otherwise = stream_.skip_name("else") ? conditional() : nullptr;
    std::vector<ExprPtr> parts = pack(std::move(value), std::move(condition));
    parts.push_back(std::move(otherwise));
    value = make(Expr::Kind::conditional, at, std::move(parts));
  }
  return value;
}

ExprPtr ExpressionParser::logical_or() {
  const std::uint32_t at = stream_.current().at;
  ExprPtr left = logical_and();
  while (stream_.skip_name("or")) {
    left = make(Expr::Kind::logical_or, at, pack(std::move(left), logical_and()));
  }
  return left;
}

ExprPtr ExpressionParser::logical_and() {
  const std::uint32_t at = stream_.current().at;
  ExprPtr left = logical_not();
  while (stream_.skip_name("and")) {
    left = make(Expr::Kind::logical_and, at, pack(std::move(left), logical_not()));
  }
  return left;
}

ExprPtr ExpressionParser::logical_not() {
  if (!stream_.current().is_name("not")) return comparison();
  const Nesting level(*this);
  const std::uint32_t at = stream_.next().at;
  return make(Expr::Kind::logical_not, at, pack(logical_not()));
}

ExprPtr ExpressionParser::comparison() {
  static constexpr std::pair<std::string_view, Comparison> kSymbols[] = {
      {"==", Comparison::equal},  {"!=", Comparison::not_equal},
      {"<", Comparison::less},    {"<=", Comparison::less_equal},
      {">", Comparison::greater}, {">=", Comparison::greater_equal}};
  const std::uint32_t at = stream_.current().at;
  std::vector<ExprPtr> parts = pack(sum());
  std::vector<Comparison> comparisons;
  while (true) {
    const Token& token = stream_.current();
    const auto* symbol =
        std::find_if(std::begin(kSymbols), std::end(kSymbols),
                     [&](const auto& entry) { return token.is_symbol(entry.first); });
    if (symbol != std::end(kSymbols)) {
      comparisons.push_back(symbol->second);
    } else if (token.is_name("in")) {
      comparisons.push_back(Comparison::in);
    } else if (token.is_name("not") && stream_.ahead().is_name("in")) {
      stream_.next();
      comparisons.push_back(Comparison::not_in);
    } else {
      break;
    }
    stream_.next();
    parts.push_back(sum());
  }
  if (comparisons.empty()) return std::move(parts[0]);
  ExprPtr made = make(Expr::Kind::compare, at, std::move(parts));
  made->comparisons = std::move(comparisons);
  return made;
}

namespace {

// The operators of one rank of binding.
using Ranks = std::initializer_list<std::pair<std::string_view, Operator>>;

const std::pair<std::string_view, Operator>* find_operator(const Token& token, const Ranks& rank) {
  for (const auto& entry : rank) {
    if (token.is_symbol(entry.first)) return &entry;
  }
  return nullptr;
}

}  // namespace

ExprPtr ExpressionParser::sum() {
  static const Ranks kRank = {{"+", Operator::add}, {"-", Operator::subtract}};
  ExprPtr left = concatenation();
  while (const auto* found = find_operator(stream_.current(), kRank)) {
    const std::uint32_t at = stream_.next().at;
    left = make(Expr::Kind::binary, at, pack(std::move(left), concatenation()));
    left->op = found->second;
  }
  return left;
}

ExprPtr ExpressionParser::concatenation() {
  const std::uint32_t at = stream_.current().at;
  std::vector<ExprPtr> parts = pack(product());
  while (stream_.skip_symbol("~")) parts.push_back(product());
  return parts.size() == 1 ? std::move(parts[0]) : make(Expr::Kind::concat, at, std::move(parts));
}

ExprPtr ExpressionParser::product() {
  static const Ranks kRank = {{"*", Operator::multiply},
                              {"/", Operator::divide},
                              {"//", Operator::floor_divide},
                              {"%", Operator::modulo}};
  ExprPtr left = power();
  while (const auto* found = find_operator(stream_.current(), kRank)) {
    const std::uint32_t at = stream_.next().at;
    left = make(Expr::Kind::binary, at, pack(std::move(left), power()));
    left->op = found->second;
  }
  return left;
}

ExprPtr ExpressionParser::power() {
  ExprPtr left = unary();
  while (stream_.current().is_symbol("**")) {
    const std::uint32_t at = stream_.next().at;
    left = make(Expr::Kind::binary, at, pack(std::move(left), unary()));
    left->op = Operator::power;
  }
  return left;
}

ExprPtr ExpressionParser::unary(bool with_filter) {
  const Nesting level(*this);
  const std::uint32_t at = stream_.current().at;
  ExprPtr value;
  if (stream_.skip_symbol("-")) {
    value = make(Expr::Kind::negate, at, pack(unary(false)));
  } else if (stream_.skip_symbol("+")) {
    value = make(Expr::Kind::plus, at, pack(unary(false)));
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filter ? filters_and_tests(std::move(value)) : std::move(value);
}

ExprPtr ExpressionParser::primary() {
  const Token& token = stream_.current();
  const std::uint32_t at = token.at;
  if (token.kind == TokenKind::name) return word();
  if (token.kind == TokenKind::integer || token.kind == TokenKind::real) {
    return constant(at, stream_.next().number);
  }
  if (token.kind == TokenKind::string) {
    std::string text = stream_.next().text;
    while (stream_.current().kind == TokenKind::string) text += stream_.next().text;
    return constant(at, Value::constant_text(std::move(text)));
  }
  if (token.is_symbol("[")) return list();
  if (token.is_symbol("{")) return dict();
  if (stream_.skip_symbol("(")) {
    ExprPtr inner = tuple({.in_parentheses = true});
    stream_.expect_symbol(")");
    return inner;
  }
  stream_.fail(fmt::format("unexpected '{}'", token.described()));
}

ExprPtr ExpressionParser::word() {
  const Token token = stream_.next();
  if (token.text == "true" || token.text == "True") return constant(token.at, Value(true));
  if (token.text == "false" || token.text == "False") return constant(token.at, Value(false));
  if (token.text == "none" || token.text == "None") return constant(token.at, Value());
  uses.varargs = uses.varargs || token.text == "varargs";
  uses.kwargs = uses.kwargs || token.text == "kwargs";
  uses.caller = uses.caller || token.text == "caller";
  ExprPtr name = make(Expr::Kind::name, token.at, {});
  name->name = token.text;
  return name;
}

ExprPtr ExpressionParser::list() {
  const std::uint32_t at = stream_.expect_symbol("[").at;
  std::vector<ExprPtr> items;
  while (!stream_.current().is_symbol("]")) {
    if (!items.empty()) stream_.expect_symbol(",");
    if (stream_.current().is_symbol("]")) break;
    items.push_back(expression());
  }
  stream_.expect_symbol("]");
  return make(Expr::Kind::list, at, std::move(items));
}

ExprPtr ExpressionParser::dict() {
  const std::uint32_t at = stream_.expect_symbol("{").at;
  std::vector<ExprPtr> parts;
  while (!stream_.current().is_symbol("}")) {
    if (!parts.empty()) stream_.expect_symbol(",");
    if (stream_.current().is_symbol("}")) break;
    parts.push_back(expression());
    stream_.expect_symbol(":");
    parts.push_back(expression());
  }
  stream_.expect_symbol("}");
  return make(Expr::Kind::dict, at, std::move(parts));
}

bool ExpressionParser::at_tuple_end(std::string_view end_name) const {
  const Token& token = stream_.current();
  return token.kind == TokenKind::variable_end || token.kind == TokenKind::block_end ||
         token.is_symbol(")") || (!end_name.empty() && token.is_name(end_name));
}

ExprPtr ExpressionParser::tuple(const TupleRules& rules) {
  const std::uint32_t at = stream_.current().at;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) stream_.expect_symbol(",");
    if (at_tuple_end(rules.end_name)) break;
    items.push_back(expression(rules.with_condition));
    if (!stream_.current().is_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !rules.in_parentheses) {
    stream_.fail(fmt::format("Expected an expression, got '{}'", stream_.current().described()));
  }
  return make(Expr::Kind::tuple, at, std::move(items));
}

}  // namespace linnet::jinja
