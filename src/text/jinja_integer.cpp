#include "text/jinja_integer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "text/jinja_fault.h"

namespace linnet::jinja {
namespace {

constexpr std::uint32_t kBase = 1'000'000'000;
constexpr std::size_t kMaxLimbs = Integer::kMaxDigits / 9 + 1;

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

}  // namespace

Integer::Integer(std::int64_t value) : negative_(value < 0) {
  std::uint64_t rest =
      negative_ ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  for (; rest != 0; rest /= kBase) limbs_.push_back(static_cast<std::uint32_t>(rest % kBase));
}

std::optional<Integer> Integer::parse(std::string_view digits, int base) {
  if (digits.empty()) return std::nullopt;
  if (digits.size() > kMaxDigits) value_error("a whole number has too many digits");
  Integer value;
  for (const char c : digits) {
    const int digit = digit_value(c);
    if (digit >= base) return std::nullopt;
    value.limbs_ = multiply(value.limbs_, static_cast<std::uint32_t>(base));
    value.limbs_ = add(value.limbs_, Integer(digit).limbs_);
  }
  value.trim();
  return value;
}

Integer Integer::from_double(double value) {
  const std::string digits = fmt::format("{:.0f}", std::fabs(std::trunc(value)));
  Integer whole = parse(digits, 10).value_or(Integer());
  whole.negative_ = value < 0 && !whole.is_zero();
  return whole;
}

std::string Integer::to_string() const {
  if (limbs_.empty()) return "0";
  std::string text = fmt::format("{}{}", negative_ ? "-" : "", limbs_.back());
  for (std::size_t i = limbs_.size() - 1; i-- > 0;) text += fmt::format("{:09}", limbs_[i]);
  if (text.size() > kMaxDigits + 1) value_error("a whole number has too many digits");
  return text;
}

double Integer::to_double() const { return std::strtod(to_string().c_str(), nullptr); }

std::optional<std::int64_t> Integer::to_int64() const {
  static const Integer low(INT64_MIN);
  static const Integer high(INT64_MAX);
  if (*this < low || *this > high) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = limbs_.size(); i-- > 0;) value = value * kBase + limbs_[i];
  return static_cast<std::int64_t>(negative_ ? ~value + 1 : value);
}

Integer Integer::negated() const {
  Integer result = *this;
  if (!is_zero()) result.negative_ = !negative_;
  return result;
}

void Integer::trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  if (limbs_.empty()) negative_ = false;
  if (limbs_.size() > kMaxLimbs) value_error("a whole number has too many digits");
}

std::strong_ordering Integer::compare(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  for (std::size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i]) return a[i] <=> b[i];
  }
  return std::strong_ordering::equal;
}

std::strong_ordering Integer::operator<=>(const Integer& other) const {
  if (negative_ != other.negative_)
    return negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  return negative_ ? compare(other.limbs_, limbs_) : compare(limbs_, other.limbs_);
}

Integer::Limbs Integer::add(const Limbs& a, const Limbs& b) {
  Limbs sum;
  std::uint32_t carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry != 0; ++i) {
    const std::uint32_t total = (i < a.size() ? a[i] : 0) + (i < b.size() ? b[i] : 0) + carry;
    sum.push_back(total % kBase);
    carry = total / kBase;
  }
  return sum;
}

Integer::Limbs Integer::subtract(const Limbs& a, const Limbs& b) {
  Limbs rest = a;
  std::uint32_t borrow = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::uint32_t take = (i < b.size() ? b[i] : 0) + borrow;
    borrow = rest[i] < take ? 1 : 0;
    rest[i] += borrow * kBase;
    rest[i] -= take;
  }
  while (!rest.empty() && rest.back() == 0) rest.pop_back();
  return rest;
}

Integer::Limbs Integer::multiply(const Limbs& a, std::uint32_t b) {
  Limbs product;
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < a.size() || carry != 0; ++i) {
    const std::uint64_t total = (i < a.size() ? std::uint64_t{a[i]} * b : 0) + carry;
    product.push_back(static_cast<std::uint32_t>(total % kBase));
    carry = total / kBase;
  }
  while (!product.empty() && product.back() == 0) product.pop_back();
  return product;
}

Integer operator+(const Integer& a, const Integer& b) {
  Integer sum;
  if (a.negative_ == b.negative_) {
    sum.limbs_ = Integer::add(a.limbs_, b.limbs_);
    sum.negative_ = a.negative_;
  } else if (Integer::compare(a.limbs_, b.limbs_) >= 0) {
    sum.limbs_ = Integer::subtract(a.limbs_, b.limbs_);
    sum.negative_ = a.negative_;
  } else {
    sum.limbs_ = Integer::subtract(b.limbs_, a.limbs_);
    sum.negative_ = b.negative_;
  }
  sum.trim();
  return sum;
}

Integer operator*(const Integer& a, const Integer& b) {
  if (a.limbs_.size() + b.limbs_.size() > kMaxLimbs + 1) {
    value_error("a whole number has too many digits");
  }
  Integer product;
  product.limbs_.assign(a.limbs_.size() + b.limbs_.size(), 0);
  for (std::size_t i = 0; i < a.limbs_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.limbs_.size() || carry != 0; ++j) {
      const std::uint64_t term = j < b.limbs_.size() ? std::uint64_t{a.limbs_[i]} * b.limbs_[j] : 0;
      const std::uint64_t total = product.limbs_[i + j] + term + carry;
      product.limbs_[i + j] = static_cast<std::uint32_t>(total % kBase);
      carry = total / kBase;
    }
  }
  product.negative_ = a.negative_ != b.negative_;
  product.trim();
  return product;
}

Integer::Division Integer::divide(const Integer& a, const Integer& b) {
  Limbs quotient(a.limbs_.size(), 0);
  Limbs rest;
  for (std::size_t i = a.limbs_.size(); i-- > 0;) {
    rest.insert(rest.begin(), a.limbs_[i]);
    while (!rest.empty() && rest.back() == 0) rest.pop_back();
    // The largest digit with digit * b <= rest, by bisection.
    std::uint32_t low = 0;
    std::uint32_t high = kBase - 1;
    while (low < high) {
      const std::uint32_t middle = low + (high - low + 1) / 2;
      if (compare(multiply(b.limbs_, middle), rest) <= 0) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    quotient[i] = low;
    rest = subtract(rest, multiply(b.limbs_, low));
  }
  Division result;
  result.quotient.limbs_ = std::move(quotient);
  result.quotient.negative_ = a.negative_ != b.negative_;
  result.quotient.trim();
  result.remainder.limbs_ = std::move(rest);
  result.remainder.negative_ = a.negative_;
  result.remainder.trim();
  if (!result.remainder.is_zero() && a.negative_ != b.negative_) {
    result.quotient = result.quotient - Integer(1);
    result.remainder = result.remainder + b;
  }
  return result;
}

Integer Integer::power(Integer base, std::uint64_t exponent) {
  Integer result(1);
  while (exponent != 0) {
    if (exponent % 2 == 1) result = result * base;
    exponent /= 2;
    if (exponent != 0) base = base * base;
  }
  return result;
}

}  // namespace linnet::jinja
