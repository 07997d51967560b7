// What stands behind a value: attributes, items, calls, filters and tests; and targets.
#include <fmt/core.h>

#include "text/jinja_parser.h"

namespace linnet::jinja {
namespace {

std::vector<ExprPtr> pack(ExprPtr a, ExprPtr b = nullptr) {
  std::vector<ExprPtr> parts;
  parts.push_back(std::move(a));
  if (b) parts.push_back(std::move(b));
  return parts;
}

}  // namespace

ExprPtr ExpressionParser::postfix(ExprPtr value) {
  while (true) {
    if (stream_.current().is_symbol(".") || stream_.current().is_symbol("[")) {
      value = subscript(std::move(value));
    } else if (stream_.current().is_symbol("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExprPtr ExpressionParser::filters_and_tests(ExprPtr value) {
  while (true) {
    if (stream_.current().is_symbol("|")) {
      value = filter(std::move(value), false);
    } else if (stream_.current().is_name("is")) {
      value = test(std::move(value));
    } else if (stream_.current().is_symbol("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExprPtr ExpressionParser::subscript(ExprPtr value) {
  const Token opening = stream_.next();
  if (opening.text == "[") return bracketed(std::move(value), opening.at);
  const Token token = stream_.next();
  if (token.kind == TokenKind::integer) {
    ExprPtr index = make(Expr::Kind::constant, token.at, {});
    index->constant = token.number;
    return make(Expr::Kind::item, opening.at, pack(std::move(value), std::move(index)));
  }
  if (token.kind != TokenKind::name) throw SyntaxFault{token.at, "expected name or number"};
  ExprPtr made = make(Expr::Kind::attribute, token.at, pack(std::move(value)));
  made->name = token.text;
  return made;
}

ExprPtr ExpressionParser::bracketed(ExprPtr value, std::uint32_t at) {
  std::vector<ExprPtr> bounds(3);
  std::size_t colons = 0;
  const auto at_end = [&] { return stream_.current().is_symbol("]"); };
  if (!stream_.current().is_symbol(":")) {
    std::vector<ExprPtr> keys;
    if (at_end()) stream_.fail("Expected an expression, got ']'");
    while (!at_end() && !stream_.current().is_symbol(":")) {
      if (!keys.empty()) stream_.expect_symbol(",");
      keys.push_back(expression());
    }
    if (at_end()) {
      stream_.next();
      ExprPtr key =
          keys.size() == 1 ? std::move(keys[0]) : make(Expr::Kind::tuple, at, std::move(keys));
      return make(Expr::Kind::item, at, pack(std::move(value), std::move(key)));
    }
    if (keys.size() != 1) stream_.fail("a slice cannot be one of several keys");
    bounds[0] = std::move(keys[0]);
  }
  while (!at_end()) {
    stream_.expect_symbol(":");
    if (++colons > 2) stream_.fail("expected token ']', got ':'");
    if (!at_end() && !stream_.current().is_symbol(":")) bounds[colons] = expression();
  }
  stream_.next();
  std::vector<ExprPtr> parts = pack(std::move(value));
  for (ExprPtr& bound : bounds) parts.push_back(std::move(bound));
  return make(Expr::Kind::slice, at, std::move(parts));
}

ExprPtr ExpressionParser::call(ExprPtr value) {
  ExprPtr made = make(Expr::Kind::call, stream_.current().at, pack(std::move(value)));
  made->args = call_args();
  measure(*made);
  return made;
}

CallArgs ExpressionParser::call_args() {
  stream_.expect_symbol("(");
  CallArgs args;
  bool first = true;
  while (!stream_.current().is_symbol(")")) {
    if (!first) {
      stream_.expect_symbol(",");
      if (stream_.current().is_symbol(")")) break;
    }
    first = false;
    call_arg(args);
  }
  stream_.next();
  return args;
}

void ExpressionParser::call_arg(CallArgs& args) {
  const auto allow = [&](bool allowed) {
    if (!allowed) stream_.fail("invalid syntax for function call expression");
  };
  if (stream_.skip_symbol("*")) {
    allow(!args.star && !args.double_star);
    args.star = expression();
  } else if (stream_.skip_symbol("**")) {
    allow(!args.double_star);
    args.double_star = expression();
  } else if (stream_.current().kind == TokenKind::name && stream_.ahead().is_symbol("=")) {
    allow(!args.double_star);
    std::string key = stream_.next().text;
    stream_.next();
    for (const auto& named : args.named) {
      if (named.first == key) stream_.fail(fmt::format("keyword argument repeated: {}", key));
    }
    args.named.emplace_back(std::move(key), expression());
  } else {
    allow(!args.star && !args.double_star && args.named.empty());
    args.positional.push_back(expression());
  }
}

ExprPtr ExpressionParser::filter(ExprPtr value, bool start_inline) {
  while (start_inline || stream_.current().is_symbol("|")) {
    if (!start_inline) stream_.next();
    start_inline = false;
    const Token token = stream_.expect(TokenKind::name, "name");
    std::vector<ExprPtr> parts;
    parts.push_back(std::move(value));
    ExprPtr made = make(Expr::Kind::filter, token.at, std::move(parts));
    made->name = token.text;
    while (stream_.skip_symbol(".")) {
      made->name += "." + stream_.expect(TokenKind::name, "name").text;
    }
    if (stream_.current().is_symbol("(")) made->args = call_args();
    measure(*made);
    value = std::move(made);
  }
  return value;
}

ExprPtr ExpressionParser::filter_chain(bool start_inline) { return filter(nullptr, start_inline); }

bool ExpressionParser::starts_test_argument() const {
  const Token& token = stream_.current();
  if (token.is_name("else") || token.is_name("or") || token.is_name("and")) return false;
  switch (token.kind) {
    case TokenKind::name:
    case TokenKind::string:
    case TokenKind::integer:
    case TokenKind::real:
      return true;
    default:
      return token.is_symbol("[") || token.is_symbol("{");
  }
}

ExprPtr ExpressionParser::test(ExprPtr value) {
  const std::uint32_t at = stream_.next().at;
  const bool negated = stream_.skip_name("not");
  ExprPtr made = make(Expr::Kind::test, at, pack(std::move(value)));
  made->name = stream_.expect(TokenKind::name, "name").text;
  while (stream_.skip_symbol(".")) made->name += "." + stream_.expect(TokenKind::name, "name").text;
  if (stream_.current().is_symbol("(")) {
    made->args = call_args();
  } else if (starts_test_argument()) {
    if (stream_.current().is_name("is")) stream_.fail("You cannot chain multiple tests with is");
    made->args.positional.push_back(postfix(primary()));
  }
  measure(*made);
  return negated ? make(Expr::Kind::logical_not, at, pack(std::move(made))) : std::move(made);
}

std::string ExpressionParser::target_name() {
  const Token token = stream_.expect(TokenKind::name, "name");
  static constexpr std::string_view kConstants[] = {"true", "false", "none",
                                                    "True", "False", "None"};
  for (const std::string_view constant : kConstants) {
    if (token.text == constant) throw SyntaxFault{token.at, "can't assign to 'const'"};
  }
  return token.text;
}

ExprPtr ExpressionParser::target_part(bool with_namespace) {
  const Token& token = stream_.current();
  if (with_namespace && token.kind == TokenKind::name && stream_.ahead().is_symbol(".")) {
    const std::uint32_t start = token.at;
    ExprPtr owner = word();
    stream_.next();
    ExprPtr made = make(Expr::Kind::namespace_item, start, pack(std::move(owner)));
    made->name = stream_.expect(TokenKind::name, "name").text;
    return made;
  }
  if (token.is_symbol("(")) {
    const Token opening = stream_.next();
    if (nesting_ > kMaxNesting) stream_.fail("targets are nested too deeply");
    ++nesting_;
    ExprPtr inner = target(with_namespace);
    --nesting_;
    stream_.expect_symbol(")");
    return inner;
  }
  if (token.kind != TokenKind::name) {
    if (token.kind == TokenKind::block_end || token.kind == TokenKind::end) {
      stream_.fail(fmt::format("Expected an expression, got '{}'", token.described()));
    }
    stream_.fail("can't assign to 'const'");
  }
  const std::uint32_t at = token.at;
  ExprPtr made = make(Expr::Kind::name, at, {});
  made->name = target_name();
  return made;
}

ExprPtr ExpressionParser::target(bool with_namespace, std::string_view end_name) {
  const std::uint32_t at = stream_.current().at;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  do {
    if (!items.empty() && at_tuple_end(end_name)) break;
    items.push_back(target_part(with_namespace));
    is_tuple = is_tuple || stream_.current().is_symbol(",");
  } while (stream_.skip_symbol(","));
  if (!is_tuple) return std::move(items[0]);
  return make(Expr::Kind::tuple, at, std::move(items));
}

}  // namespace linnet::jinja
