// Whole numbers beyond 64 bits, as Python has them, up to kMaxDigits decimal digits (Python itself
// prints no longer ones). Only what templates can reach; schoolbook arithmetic on base 10^9.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linnet::jinja {

class Integer {
 public:
  static constexpr std::size_t kMaxDigits = 4300;

  Integer() = default;
  explicit Integer(std::int64_t value);
  // Digits only, in base 2 to 36; nullopt when there is another character or none at all.
  static std::optional<Integer> parse(std::string_view digits, int base);
  // The whole part of a finite number.
  static Integer from_double(double value);

  std::string to_string() const;
  double to_double() const;
  std::optional<std::int64_t> to_int64() const;
  bool is_zero() const { return limbs_.empty(); }
  bool is_negative() const { return negative_; }
  bool is_odd() const { return !limbs_.empty() && limbs_[0] % 2 == 1; }

  Integer negated() const;
  // Results over kMaxDigits are a Fault.
  friend Integer operator+(const Integer& a, const Integer& b);
  friend Integer operator-(const Integer& a, const Integer& b) { return a + b.negated(); }
  friend Integer operator*(const Integer& a, const Integer& b);
  // Rounds towards minus infinity; the remainder has the divisor's sign. The divisor is not zero.
  struct Division;
  static Division divide(const Integer& a, const Integer& b);
  static Integer power(Integer base, std::uint64_t exponent);

  bool operator==(const Integer&) const = default;
  std::strong_ordering operator<=>(const Integer& other) const;

 private:
  using Limbs = std::vector<std::uint32_t>;
  static std::strong_ordering compare(const Limbs& a, const Limbs& b);
  static Limbs add(const Limbs& a, const Limbs& b);
  static Limbs subtract(const Limbs& a, const Limbs& b);  // a >= b
  static Limbs multiply(const Limbs& a, std::uint32_t b);
  void trim();

  bool negative_ = false;
  Limbs limbs_;  // little endian, no zeros at the top; empty is 0
};

struct Integer::Division {
  Integer quotient;
  Integer remainder;
};

}  // namespace linnet::jinja
