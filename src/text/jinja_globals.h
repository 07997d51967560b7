// The functions that every template has: range, dict, namespace, cycler, joiner, and those that
// transformers adds (raise_exception, strftime_now).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "text/jinja_runtime.h"

namespace linnet::jinja {

// nullopt when there is no such function.
std::optional<Value> global_function(Runtime& runtime, std::string_view name);

// namespace(): the one kind of value whose attributes a template can set.
class Namespace final : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  Value attribute(Runtime& runtime, std::string_view name) override;
  // A name that begins with an underscore is Fault{security}.
  void set(Heap& heap, const std::string& name, Value value);
  void clear() { attributes_.clear(); }

 private:
  std::map<std::string, Value, std::less<>> attributes_;
  std::vector<Charge> charges_;
};

}  // namespace linnet::jinja
