// The variables that can be seen from one place of a template: a chain from inner to outer.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_heap.h"

namespace linnet::jinja {

class Scope;
using ScopePtr = std::shared_ptr<Scope>;

class Scope {
 public:
  // Chains longer than the value depth are a fault: whatever holds them must stay walkable.
  static ScopePtr inside(const ScopePtr& parent);

  // Names live as long as the template.
  void set(std::string_view name, Value value);
  const Value* find(std::string_view name) const;
  // Lets go of everything, for the end of the render: macros and their scopes hold each other.
  void clear();

 private:
  ScopePtr parent_;
  int depth_ = 0;
  std::vector<std::pair<std::string_view, Value>> variables_;
};

}  // namespace linnet::jinja
