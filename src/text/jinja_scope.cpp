#include "text/jinja_scope.h"

namespace linnet::jinja {
namespace {

constexpr int kMaxScopes = 1000;

}  // namespace

ScopePtr Scope::inside(const ScopePtr& parent) {
  auto scope = std::make_shared<Scope>();
  scope->parent_ = parent;
  scope->depth_ = parent ? parent->depth_ + 1 : 0;
  if (scope->depth_ > kMaxScopes) fault(JinjaErrorKind::limit, "scopes are nested too deeply");
  return scope;
}

void Scope::set(std::string_view name, Value value) {
  for (auto& [known, old] : variables_) {
    if (known != name) continue;
    old = std::move(value);
    return;
  }
  variables_.emplace_back(name, std::move(value));
}

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
    for (const auto& [known, value] : scope->variables_) {
      if (known == name) return &value;
    }
  }
  return nullptr;
}

void Scope::clear() {
  variables_.clear();
  parent_.reset();
}

}  // namespace linnet::jinja
