#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>

#include "text/jinja_parser.h"

namespace linnet::jinja {
namespace {

using Names = std::initializer_list<std::string_view>;

class StatementParser {
 public:
  explicit StatementParser(std::string_view source)
      : stream_(tokenize(source)), expressions_(stream_) {}

  Body run() {
    Body body;
    read(body, {});
    return body;
  }

 private:
  using Kind = Stmt::Kind;
  using StmtPtr = std::unique_ptr<Stmt>;

  StmtPtr make(Kind kind, std::uint32_t at) {
    auto made = std::make_unique<Stmt>();
    made->kind = kind;
    made->at = at;
    return made;
  }

  // Statements up to a tag named in `ends`, which is current when it returns; all of them, when
  // `ends` is empty.
  void read(Body& body, const Names& ends) {
    if (++nesting_ > kMaxNesting) stream_.fail("blocks are nested too deeply");
    while (stream_.current().kind != TokenKind::end) {
      const Token& token = stream_.current();
      if (token.kind == TokenKind::data) {
        body.push_back(make(Kind::data, token.at));
        body.back()->constant = Value::constant_text(stream_.next().text);
      } else if (token.kind == TokenKind::variable_begin) {
        stream_.next();
        body.push_back(make(Kind::output, stream_.current().at));
        body.back()->expressions.push_back(expressions_.tuple());
        stream_.expect(TokenKind::variable_end, "end of print statement");
      } else {
        stream_.next();
        if (at_name(ends)) break;
        body.push_back(statement(ends));
        end_of_tag();
      }
    }
    if (ends.size() != 0 && stream_.current().kind == TokenKind::end) fail_open(ends);
    --nesting_;
  }

  bool at_name(const Names& names) const {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return stream_.current().is_name(name); });
  }

  void end_of_tag() { stream_.expect(TokenKind::block_end, "end of statement block"); }

  [[noreturn]] void fail_open(const Names& ends) const {
    std::string wanted;
    for (const std::string_view end : ends)
      wanted += fmt::format("{}'{}'", wanted.empty() ? "" : " or ", end);
    stream_.fail("Unexpected end of template. Jinja was looking for the following tags: " + wanted);
  }

  // "... %}" body "{% ends"; the end tag's name is eaten.
  void block(Body& body, const Names& ends) {
    stream_.skip_symbol(":");
    end_of_tag();
    read(body, ends);
  }

  // As block, for the body of a function: a loop around it cannot be left from inside.
  void function_body(Body& body, std::string_view end) {
    const int outer = std::exchange(loops_, 0);
    block(body, {end});
    loops_ = outer;
    stream_.next();
  }

  StmtPtr statement(const Names& ends) {
    using Reader = StmtPtr (StatementParser::*)(std::uint32_t);
    static constexpr std::pair<std::string_view, Reader> kReaders[] = {
        {"for", &StatementParser::loop},
        {"if", &StatementParser::condition},
        {"set", &StatementParser::set},
        {"with", &StatementParser::with},
        {"macro", &StatementParser::macro},
        {"call", &StatementParser::call_block},
        {"filter", &StatementParser::filter_block},
        {"generation", &StatementParser::generation},
        {"break", &StatementParser::loop_control},
        {"continue", &StatementParser::loop_control},
        {"autoescape", &StatementParser::autoescape},
        {"block", &StatementParser::named_block},
        {"print", &StatementParser::print},
        {"include", &StatementParser::loader},
        {"import", &StatementParser::loader},
        {"from", &StatementParser::loader},
        {"extends", &StatementParser::loader},
    };
    const Token& token = stream_.current();
    if (token.kind != TokenKind::name) stream_.fail("tag name expected");
    for (const auto& [name, reader] : kReaders) {
      if (token.text == name) return (this->*reader)(token.at);
    }
    std::string detail = fmt::format("Encountered unknown tag '{}'.", token.text);
    for (const std::string_view end : ends)
      detail += fmt::format(" '{}' would end the open block.", end);
    stream_.fail(detail);
  }

  StmtPtr loop(std::uint32_t at) {
    stream_.next();
    StmtPtr made = make(Kind::loop, at);
    made->target = expressions_.target(false, "in");
    if (made->target->name == "loop") {
      stream_.fail("Can't assign to special loop variable in for-loop target");
    }
    if (!stream_.skip_name("in")) {
      stream_.fail(fmt::format("expected token 'in', got '{}'", stream_.current().described()));
    }
    made->value = expressions_.tuple({.with_condition = false, .end_name = "recursive"});
    if (stream_.skip_name("if")) made->test = expressions_.expression();
    made->recursive = stream_.skip_name("recursive");
    ++loops_;
    block(made->body, {"endfor", "else"});
    --loops_;
    if (stream_.next().text == "else") {
      block(made->otherwise, {"endfor"});
      stream_.next();
    }
    return made;
  }

  StmtPtr condition(std::uint32_t at) {
    StmtPtr made = make(Kind::condition, at);
    std::string word = stream_.next().text;
    while (word == "if" || word == "elif") {
      made->branches.push_back({expressions_.tuple({.with_condition = false}), {}});
      block(made->branches.back().body, {"elif", "else", "endif"});
      word = stream_.next().text;
    }
    if (word == "else") {
      made->branches.push_back({nullptr, {}});
      block(made->branches.back().body, {"endif"});
      stream_.next();
    }
    return made;
  }

  StmtPtr set(std::uint32_t at) {
    stream_.next();
    StmtPtr made = make(Kind::set, at);
    made->target = expressions_.target(true);
    if (stream_.skip_symbol("=")) {
      made->value = expressions_.tuple();
      return made;
    }
    made->kind = Kind::set_block;
    made->filter = expressions_.filter_chain(false);
    block(made->body, {"endset"});
    stream_.next();
    return made;
  }

  StmtPtr with(std::uint32_t at) {
    stream_.next();
    StmtPtr made = make(Kind::with, at);
    while (stream_.current().kind != TokenKind::block_end) {
      if (!made->targets.empty()) stream_.expect_symbol(",");
      made->targets.push_back(expressions_.target(false, "="));
      stream_.expect_symbol("=");
      made->expressions.push_back(expressions_.expression());
    }
    block(made->body, {"endwith"});
    stream_.next();
    return made;
  }

  void signature(Signature& signature) {
    stream_.expect_symbol("(");
    while (!stream_.current().is_symbol(")")) {
      if (!signature.names.empty()) stream_.expect_symbol(",");
      std::string name = expressions_.target_name();
      if (std::find(signature.names.begin(), signature.names.end(), name) !=
          signature.names.end()) {
        stream_.fail(fmt::format("duplicate argument '{}'", name));
      }
      if (stream_.skip_symbol("=")) {
        signature.defaults.push_back(expressions_.expression());
      } else if (!signature.defaults.empty()) {
        stream_.fail("non-default argument follows default argument");
      }
      signature.names.push_back(std::move(name));
    }
    stream_.next();
  }

  // The body of a macro, with a note on which of the special names it uses.
  void macro_body(Stmt& made, std::string_view end) {
    const ExpressionParser::Uses outer = std::exchange(expressions_.uses, {});
    function_body(made.body, end);
    made.signature.uses_varargs = expressions_.uses.varargs;
    made.signature.uses_kwargs = expressions_.uses.kwargs;
    made.signature.uses_caller = expressions_.uses.caller;
    expressions_.uses = outer;
  }

  StmtPtr macro(std::uint32_t at) {
    stream_.next();
    StmtPtr made = make(Kind::macro, at);
    made->name = expressions_.target_name();
    signature(made->signature);
    macro_body(*made, "endmacro");
    return made;
  }

  StmtPtr call_block(std::uint32_t at) {
    stream_.next();
    StmtPtr made = make(Kind::call_block, at);
    made->name = "caller";
    if (stream_.current().is_symbol("(")) signature(made->signature);
    made->value = expressions_.expression();
    if (made->value->kind != Expr::Kind::call) throw SyntaxFault{at, "expected call"};
    macro_body(*made, "endcall");
    return made;
  }

  StmtPtr filter_block(std::uint32_t at) {
    stream_.next();
    StmtPtr made = make(Kind::filter_block, at);
    made->filter = expressions_.filter_chain(true);
    block(made->body, {"endfilter"});
    stream_.next();
    return made;
  }

  StmtPtr generation(std::uint32_t at) {
    stream_.next();
    StmtPtr made = make(Kind::generation, at);
    function_body(made->body, "endgeneration");
    return made;
  }

  StmtPtr loop_control(std::uint32_t at) {
    const std::string word = stream_.next().text;
    if (loops_ == 0) throw SyntaxFault{at, fmt::format("'{}' outside loop", word)};
    return make(word == "break" ? Kind::break_loop : Kind::continue_loop, at);
  }

  StmtPtr autoescape(std::uint32_t at) {
    stream_.next();
    StmtPtr made = make(Kind::autoescape, at);
    made->value = expressions_.expression();
    block(made->body, {"endautoescape"});
    stream_.next();
    return made;
  }

  StmtPtr named_block(std::uint32_t at) {
    stream_.next();
    StmtPtr made = make(Kind::block, at);
    made->name = stream_.expect(TokenKind::name, "name").text;
    if (std::find(block_names_.begin(), block_names_.end(), made->name) != block_names_.end()) {
      throw SyntaxFault{at, fmt::format("block '{}' defined twice", made->name)};
    }
    block_names_.push_back(made->name);
    stream_.skip_name("scoped");
    stream_.skip_name("required");
    const int outer = std::exchange(loops_, 0);
    block(made->body, {"endblock"});
    loops_ = outer;
    stream_.next();
    stream_.skip_name(made->name);
    return made;
  }

  StmtPtr print(std::uint32_t at) {
    stream_.next();
    StmtPtr made = make(Kind::output, at);
    while (stream_.current().kind != TokenKind::block_end) {
      if (!made->expressions.empty()) stream_.expect_symbol(",");
      made->expressions.push_back(expressions_.expression());
    }
    return made;
  }

  StmtPtr loader(std::uint32_t at) {
    while (stream_.current().kind != TokenKind::block_end &&
           stream_.current().kind != TokenKind::end) {
      stream_.next();
    }
    return make(Kind::loader, at);
  }

  TokenStream stream_;
  ExpressionParser expressions_;
  int nesting_ = 0;
  int loops_ = 0;  // around this place, within one function
  std::vector<std::string> block_names_;
};

}  // namespace

Body parse_template(std::string_view normalized_source) {
  Body body = StatementParser(normalized_source).run();
  check_names(body);
  return body;
}

}  // namespace linnet::jinja
