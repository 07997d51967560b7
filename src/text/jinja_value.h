// Values of a template: Python's, as far as templates meet them. A value is cheap to copy; what it
// points to never changes, except for the attributes of a namespace, the state of a cycler, and
// such. Everything that can grow is made by the Heap, which counts it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja_fault.h"
#include "text/jinja_integer.h"
#include "text/jinja_text.h"

namespace linnet::jinja {

class Heap;
class Runtime;
class Value;
struct ListData;
struct DictData;
class Object;

// What is missing, and what an operation on it reports.
struct UndefinedInfo {
  JinjaErrorKind kind = JinjaErrorKind::undefined;
  std::string message;
};

// Gives its bytes back to the heap when it goes.
class Charge {
 public:
  Charge() = default;
  Charge(Heap& heap, std::size_t bytes);
  Charge(Charge&& other) noexcept
      : heap_(std::exchange(other.heap_, nullptr)), bytes_(other.bytes_) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(heap_, other.heap_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge();
  // Spends steps of the heap for looking at this many bytes.
  void look(std::size_t bytes) const;

 private:
  Heap* heap_ = nullptr;
  std::size_t bytes_ = 0;
};

struct TextData {
  Text text;
  Charge charge;
};

using TextPtr = std::shared_ptr<const TextData>;
using ListPtr = std::shared_ptr<const ListData>;
using DictPtr = std::shared_ptr<const DictData>;
using ObjectPtr = std::shared_ptr<Object>;
using IntegerPtr = std::shared_ptr<const Integer>;
using UndefinedPtr = std::shared_ptr<const UndefinedInfo>;

enum class Type { undefined, none, boolean, integer, big_integer, real, text, list, dict, object };

class Value {
 public:
  Value() : data_(std::monostate{}) {}  // None
  explicit Value(bool value) : data_(value) {}
  explicit Value(std::int64_t value) : data_(value) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(const Integer& value);  // small when it fits
  explicit Value(TextPtr value) : data_(std::move(value)) {}
  explicit Value(ListPtr value) : data_(std::move(value)) {}
  explicit Value(DictPtr value) : data_(std::move(value)) {}
  explicit Value(ObjectPtr value) : data_(std::move(value)) {}
  static Value undefined(std::string message, JinjaErrorKind kind = JinjaErrorKind::undefined);
  // A text that lives as long as the template, outside of any heap.
  static Value constant_text(std::string words);

  Type type() const { return static_cast<Type>(data_.index()); }
  bool is(Type kind) const { return type() == kind; }
  bool is_undefined() const { return is(Type::undefined); }
  bool is_none() const { return is(Type::none); }
  bool is_text() const { return is(Type::text); }
  bool is_list() const { return is(Type::list); }
  bool is_dict() const { return is(Type::dict); }
  // An int of Python: also True and False.
  bool is_whole() const { return is(Type::boolean) || is(Type::integer) || is(Type::big_integer); }
  bool is_number() const { return is_whole() || is(Type::real); }

  const UndefinedInfo& missing() const { return *std::get<UndefinedPtr>(data_); }
  bool boolean() const { return std::get<bool>(data_); }
  std::int64_t integer() const { return std::get<std::int64_t>(data_); }
  double real() const { return std::get<double>(data_); }
  const Text& text() const { return std::get<TextPtr>(data_)->text; }
  const std::string& bytes() const { return text().bytes(); }
  const ListPtr& list() const { return std::get<ListPtr>(data_); }
  const DictPtr& dict() const { return std::get<DictPtr>(data_); }
  const ObjectPtr& object() const { return std::get<ObjectPtr>(data_); }
  Integer whole() const;                   // of is_whole()
  double number() const;                   // of is_number()
  int depth() const;                       // 0 for anything that holds no other value
  bool same_as(const Value& other) const;  // Python's `is`
  // Pays for one look at all that this value holds directly. Whatever walks into values without
  // making new ones must pay so: a value that holds another one twice, and so on for a hundred
  // levels, is small, but the walk through it has no end.
  void look() const;

 private:
  std::variant<UndefinedPtr, std::monostate, bool, std::int64_t, IntegerPtr, double, TextPtr,
               ListPtr, DictPtr, ObjectPtr>
      data_;
};

// What kind of Python sequence it is. Generators have no length and no items by number.
enum class ListKind { list, tuple, range, generator, keys, values, items };

struct ListData {
  ListKind kind = ListKind::list;
  std::vector<Value> items;
  int depth = 1;
  Charge charge;
  std::string shown;      // a range's repr
  bool is_group = false;  // a pair of groupby: its parts are also .grouper and .list
};

struct DictData {
  using Member = std::pair<Value, Value>;
  std::vector<Member> members;  // in the order in which they were added
  std::unordered_map<std::string_view, std::size_t> text_index;  // for large ones only
  int depth = 1;
  Charge charge;

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
};

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Everything that is not plain data: loops, macros, namespaces, bound methods, ...
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  virtual std::string repr() const;
  virtual bool callable() const { return false; }
  virtual Value call(Runtime& runtime, const Args& args);
  // Undefined when there is no such attribute.
  virtual Value attribute(Runtime& runtime, std::string_view name);
  int depth = 0;
  Charge charge;
};

// The names that Python uses in its messages: "str", "int", "NoneType", ...
std::string_view type_name(const Value& value);
bool truth(const Value& value);
bool is_callable(const Value& value);
// Any use of what is missing.
[[noreturn]] void missing_fault(const Value& undefined);

}  // namespace linnet::jinja
