// A parsed template: expressions and statements, as Jinja's grammar has them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja_operators.h"
#include "text/jinja_value.h"

namespace linnet::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star;         // *args
  ExprPtr double_star;  // **kwargs
};

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

struct Expr {
  enum class Kind {
    constant,
    name,
    namespace_item,  // a target only: parts[0] is the namespace's name, `name` the attribute
    list,
    tuple,
    dict,  // key, value, key, value, ...
    negate,
    plus,
    logical_not,
    binary,   // op
    concat,   // ~, of any number of parts
    compare,  // parts[0] comparisons[0] parts[1] comparisons[1] parts[2] ...
    logical_and,
    logical_or,
    conditional,  // value, condition, otherwise (may be null)
    attribute,    // parts[0].name
    item,         // parts[0][parts[1]]
    slice,        // parts[0][parts[1]:parts[2]:parts[3]], each bound may be null
    call,
    filter,  // parts[0] is null at the start of a filter block's chain
    test,
  };

  Kind kind;
  std::uint32_t at;  // byte offset in the source
  int depth = 1;     // levels of expressions below and including this one
  std::string name;
  Value constant;
  Operator op = Operator::add;
  std::vector<Comparison> comparisons;
  std::vector<ExprPtr> parts;
  CallArgs args;
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

struct Signature {
  std::vector<std::string> names;
  std::vector<ExprPtr> defaults;  // of the last names
  bool uses_varargs = false;
  bool uses_kwargs = false;
  bool uses_caller = false;
};

struct Stmt {
  enum class Kind {
    data,        // constant
    output,      // expressions
    condition,   // branches
    loop,        // target, value, test, body, otherwise
    set,         // target, value
    set_block,   // target, filter, body
    with,        // targets, expressions, body
    macro,       // name, signature, body
    call_block,  // value (a call), signature, body
    filter_block,
    generation,
    break_loop,
    continue_loop,
    autoescape,  // value, body
    block,       // body
    loader,      // include, import, extends: there is nothing to load from
  };
  struct Branch {
    ExprPtr condition;  // null: else
    Body body;
  };

  Kind kind;
  std::uint32_t at;
  std::string name;
  Value constant;
  ExprPtr target;
  ExprPtr value;
  ExprPtr test;
  ExprPtr filter;
  std::vector<ExprPtr> targets;
  std::vector<ExprPtr> expressions;
  std::vector<Branch> branches;
  Signature signature;
  Body body;
  Body otherwise;
  bool recursive = false;
};

}  // namespace linnet::jinja
