// Macros and the bodies of call blocks.
#include <fmt/core.h>

#include <algorithm>

#include "text/jinja_interpreter.h"

namespace linnet::jinja {
namespace {

class Macro final : public Object {
 public:
  Macro(Interpreter& interpreter, const Stmt& statement, ScopePtr closure)
      : interpreter_(interpreter), statement_(statement), closure_(std::move(closure)) {}
  std::string_view type_name() const override { return "Macro"; }
  std::string repr() const override { return fmt::format("<Macro '{}'>", statement_.name); }
  bool callable() const override { return true; }

  Value call(Runtime& runtime, const Args& args) override {
    Text text = interpreter_.call_macro(statement_, closure_, args);
    text.set_markup(runtime.autoescape);
    return runtime.heap.text(std::move(text));
  }

  Value attribute(Runtime& runtime, std::string_view name) override {
    if (name == "name") return runtime.heap.text(statement_.name);
    if (name == "caller") return Value(statement_.signature.uses_caller);
    if (name == "catch_kwargs") return Value(statement_.signature.uses_kwargs);
    if (name == "catch_varargs") return Value(statement_.signature.uses_varargs);
    if (name != "arguments") return Object::attribute(runtime, name);
    std::vector<Value> names;
    for (const std::string& argument : statement_.signature.names)
      names.push_back(runtime.heap.text(argument));
    return runtime.heap.tuple(std::move(names));
  }

 private:
  Interpreter& interpreter_;
  const Stmt& statement_;
  ScopePtr closure_;
};

}  // namespace

Value Interpreter::make_macro(const Stmt& statement) {
  auto made = heap_.object<Macro>(0, *this, statement, scope_);
  heap_.at_end([scope = scope_] { scope->clear(); });
  return Value(ObjectPtr(std::move(made)));
}

Text Interpreter::call_macro(const Stmt& macro, const ScopePtr& closure, const Args& args) {
  const Heap::Level level(heap_);
  const ScopePtr outer = std::exchange(scope_, Scope::inside(closure));
  bind_arguments(macro, args);
  Flow flow = Flow::normal;
  Text text = captured(macro.body, flow);
  scope_ = outer;
  return text;
}

// Positional ones first, then by name, then defaults, which may use the arguments before them.
void Interpreter::bind_arguments(const Stmt& macro, const Args& args) {
  const Signature& signature = macro.signature;
  const std::vector<std::string>& names = signature.names;
  const std::size_t given = std::min(args.positional.size(), names.size());
  for (std::size_t i = 0; i < given; ++i) scope_->set(names[i], args.positional[i]);
  if (args.positional.size() > names.size() && !signature.uses_varargs) {
    type_error(
        fmt::format("macro '{}' takes not more than {} argument(s)", macro.name, names.size()));
  }
  std::vector<const Value*> named(names.size(), nullptr);
  std::vector<DictData::Member> others;
  Value caller = Value::undefined("No caller defined");
  for (const auto& [key, value] : args.named) {
    const auto place =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), key) - names.begin());
    if (place < names.size() && place >= given) {
      named[place] = &value;
    } else if (key == "caller" && signature.uses_caller) {
      caller = value;
    } else if (signature.uses_kwargs && place == names.size()) {
      others.emplace_back(heap_.text(key), value);
    } else {
      type_error(fmt::format("macro '{}' takes no keyword argument '{}'", macro.name, key));
    }
  }
  const std::size_t first_default = names.size() - signature.defaults.size();
  for (std::size_t i = given; i < names.size(); ++i) {
    if (named[i] != nullptr) {
      scope_->set(names[i], *named[i]);
    } else if (i >= first_default) {
      scope_->set(names[i], eval(*signature.defaults[i - first_default]));
    } else {
      scope_->set(names[i],
                  Value::undefined(fmt::format("parameter '{}' was not provided", names[i])));
    }
  }
  if (signature.uses_caller) scope_->set("caller", caller);
  if (signature.uses_kwargs) scope_->set("kwargs", heap_.dict(std::move(others)));
  if (signature.uses_varargs) {
    const auto rest = args.positional.begin() + static_cast<std::ptrdiff_t>(given);
    scope_->set("varargs", heap_.tuple(std::vector<Value>(rest, args.positional.end())));
  }
}

}  // namespace linnet::jinja
