#include "text/jinja_value.h"

#include <fmt/core.h>

#include "text/jinja_operators.h"

namespace linnet::jinja {

Value::Value(const Integer& value) {
  if (const auto small = value.to_int64()) {
    data_ = *small;
  } else {
    data_ = std::make_shared<const Integer>(value);
  }
}

Value Value::undefined(std::string message, JinjaErrorKind kind) {
  Value value;
  value.data_ = std::make_shared<const UndefinedInfo>(UndefinedInfo{kind, std::move(message)});
  return value;
}

Value Value::constant_text(std::string words) {
  return Value(std::make_shared<const TextData>(TextData{Text(std::move(words)), Charge()}));
}

Integer Value::whole() const {
  if (is(Type::boolean)) return Integer(boolean() ? 1 : 0);
  if (is(Type::integer)) return Integer(integer());
  return *std::get<IntegerPtr>(data_);
}

double Value::number() const {
  if (is(Type::real)) return real();
  if (is(Type::integer)) return static_cast<double>(integer());
  if (is(Type::boolean)) return boolean() ? 1.0 : 0.0;
  return whole().to_double();
}

int Value::depth() const {
  if (is_list()) return list()->depth;
  if (is_dict()) return dict()->depth;
  return is(Type::object) ? object()->depth : 0;
}

void Value::look() const {
  if (is_text()) std::get<TextPtr>(data_)->charge.look(bytes().size());
  if (is_list()) list()->charge.look(list()->items.size() * sizeof(Value));
  if (is_dict()) dict()->charge.look(dict()->members.size() * sizeof(DictData::Member));
}

bool Value::same_as(const Value& other) const {
  if (type() != other.type()) return false;
  // Small numbers and short texts are one object in Python: equality is what a template can see.
  if (is_none() || is_number() || is_text()) return equal(*this, other);
  return data_ == other.data_;
}

const Value* DictData::find(std::string_view key) const {
  if (!text_index.empty()) {
    const auto found = text_index.find(key);
    return found == text_index.end() ? nullptr : &members[found->second].second;
  }
  for (const Member& member : members) {
    if (member.first.is_text() && member.first.bytes() == key) return &member.second;
  }
  return nullptr;
}

const Value* DictData::find(const Value& key) const {
  if (key.is_text()) return find(std::string_view(key.bytes()));
  for (const Member& member : members) {
    if (!member.first.is_text() && equal(member.first, key)) return &member.second;
  }
  return nullptr;
}

std::string Object::repr() const { return fmt::format("<{}>", type_name()); }

Value Object::call(Runtime&, const Args&) {
  type_error(fmt::format("'{}' object is not callable", type_name()));
}

Value Object::attribute(Runtime&, std::string_view name) {
  return Value::undefined(fmt::format("'{} object' has no attribute '{}'", type_name(), name));
}

std::string_view type_name(const Value& value) {
  static constexpr std::string_view kNames[] = {"Undefined", "NoneType", "bool", "int", "int",
                                                "float",     "str",      "list", "dict"};
  static constexpr std::string_view kLists[] = {
      "list", "tuple", "range", "generator", "dict_keys", "dict_values", "dict_items"};
  if (value.is(Type::object)) return value.object()->type_name();
  if (value.is_list()) return kLists[static_cast<int>(value.list()->kind)];
  return kNames[static_cast<int>(value.type())];
}

bool truth(const Value& value) {
  switch (value.type()) {
    case Type::undefined:
    case Type::none:
      return false;
    case Type::boolean:
      return value.boolean();
    case Type::integer:
      return value.integer() != 0;
    case Type::real:
      return value.real() != 0;
    case Type::text:
      return !value.text().empty();
    case Type::list:
      return value.list()->kind == ListKind::generator || !value.list()->items.empty();
    case Type::dict:
      return !value.dict()->members.empty();
    case Type::big_integer:
    case Type::object:
      return true;
  }
  return true;
}

bool is_callable(const Value& value) {
  return value.is_undefined() || (value.is(Type::object) && value.object()->callable());
}

void missing_fault(const Value& undefined) {
  fault(undefined.missing().kind, undefined.missing().message);
}

}  // namespace linnet::jinja
