// JSON as a value: keys keep their order, integers stay apart from floating-point numbers.
// Parsing is guarded: valid UTF-8, bounded depth, no duplicate keys, nothing after the value.
// The getters check type and range, and name the field in their error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace linnet {

// A whole number outside of std::int64_t, kept as it was written: an optional minus and at most
// kMaxDigits digits (as many as Python reads).
struct LargeInteger {
  static constexpr std::size_t kMaxDigits = 4300;
  std::string digits;
  bool operator==(const LargeInteger&) const = default;
};

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(unsigned value) : value_(std::int64_t{value}) {}
  Json(long value) : value_(std::int64_t{value}) {}
  Json(long long value) : value_(std::int64_t{value}) {}
  Json(unsigned long value);
  Json(unsigned long long value) : Json(static_cast<unsigned long>(value)) {}
  Json(double value) : value_(value) {}
  Json(LargeInteger value) : value_(std::move(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}
  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }

  struct ParseOptions {
    int max_depth = 128;
    bool allow_duplicate_keys = false;  // true: the last one wins
  };
  // Throws Error{invalid_argument} whose message starts with `name` and tells byte and reason.
  static Json parse(std::string_view text, const std::string& name, ParseOptions options);
  static Json parse(std::string_view text, const std::string& name);
  // The parsed content of a file; a fault is Error{corrupt_file}.
  static Json parse_file(const std::string& path);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_double() const { return std::holds_alternative<double>(value_); }
  bool is_large_int() const { return std::holds_alternative<LargeInteger>(value_); }
  bool is_number() const { return is_int() || is_double() || is_large_int(); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  std::string_view type_name() const;

  // Typed access; `name` says in the error (invalid_argument) which field was wrong.
  bool as_bool(std::string_view name = "value") const;
  std::int64_t as_int(std::string_view name = "value") const;  // also 3.0
  std::int64_t as_int_in(std::int64_t low, std::int64_t high, std::string_view name) const;
  double as_double(std::string_view name = "value") const;  // any number
  const std::string& large_digits() const;                  // of a large integer (a bug otherwise)
  const std::string& as_string(std::string_view name = "value") const;
  const Array& as_array(std::string_view name = "value") const;
  const Object& as_object(std::string_view name = "value") const;
  Array& as_array(std::string_view name = "value");
  Object& as_object(std::string_view name = "value");

  // Member of an object; nullptr when absent, or when this is not an object.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  // Member that must be there (Error{invalid_argument}).
  const Json& at(std::string_view key) const;
  // Adds or replaces a member; a null value becomes an object first.
  Json& set(std::string_view key, Json value);
  void push_back(Json value);
  std::size_t size() const;

  // Compact with indent < 0: {"a":1}. Python's json.dumps spacing with spaced = true: {"a": 1}.
  struct WriteOptions {
    int indent = -1;
    bool spaced = false;
    bool ascii_only = false;
  };
  std::string dump(WriteOptions options) const;
  std::string dump() const;

  bool operator==(const Json& other) const = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object, LargeInteger>
      value_;
};

// `text` as a JSON string with quotes. Invalid UTF-8 becomes U+FFFD.
std::string json_quote(std::string_view text, bool ascii_only = false);
// The shortest text that reads back to the same double, always with "." or "e" ("1.0").
std::string json_number(double value);

}  // namespace linnet
