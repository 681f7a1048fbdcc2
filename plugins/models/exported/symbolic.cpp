#include "plugins/models/exported/compile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>

namespace exported {
namespace {

using Numbers = std::vector<c10::IValue>;

void require_count(const Numbers& numbers, size_t count) {
  if (numbers.size() != count)
    throw std::invalid_argument("has " + std::to_string(numbers.size()) + " arguments; expected " +
                                std::to_string(count));
}

bool is_integer(const c10::IValue& value) { return value.isInt() || value.isBool(); }

int64_t to_integer(const c10::IValue& value) {
  if (value.isBool()) return value.toBool() ? 1 : 0;
  if (!value.isInt()) throw std::invalid_argument("an operand is not an integer");
  return value.toInt();
}

double to_double(const c10::IValue& value) {
  if (value.isDouble()) return value.toDouble();
  return static_cast<double>(to_integer(value));
}

bool to_bool(const c10::IValue& value) { return value.isDouble() ? value.toDouble() != 0 : to_integer(value) != 0; }

int64_t truncate(double value) {
  // 2^63 is the first number that int64_t cannot hold.
  if (!(value >= -0x1p63 && value < 0x1p63)) throw std::invalid_argument("the result exceeds 64 bits");
  return static_cast<int64_t>(value);
}

void refuse_overflow(bool overflows) {
  if (overflows) throw std::invalid_argument("the result exceeds 64 bits");
}

int64_t add(int64_t a, int64_t b) {
  int64_t result = 0;
  refuse_overflow(__builtin_add_overflow(a, b, &result));
  return result;
}
int64_t subtract(int64_t a, int64_t b) {
  int64_t result = 0;
  refuse_overflow(__builtin_sub_overflow(a, b, &result));
  return result;
}
int64_t multiply(int64_t a, int64_t b) {
  int64_t result = 0;
  refuse_overflow(__builtin_mul_overflow(a, b, &result));
  return result;
}

void check_divisor(int64_t a, int64_t b) {
  if (b == 0) throw std::invalid_argument("divides by zero");
  refuse_overflow(a == std::numeric_limits<int64_t>::min() && b == -1);
}

// Python rounds the quotient down; C++ rounds it towards zero.
int64_t floor_divide(int64_t a, int64_t b) {
  check_divisor(a, b);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t modulo(int64_t a, int64_t b) { return subtract(a, multiply(floor_divide(a, b), b)); }

int64_t power(int64_t base, int64_t exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i) result = multiply(result, base);
  return result;
}

// Integers stay integers, as in Python.
template <auto on_integers, auto on_doubles>
c10::IValue binary(const Numbers& numbers) {
  require_count(numbers, 2);
  if (is_integer(numbers[0]) && is_integer(numbers[1]))
    return on_integers(to_integer(numbers[0]), to_integer(numbers[1]));
  return on_doubles(to_double(numbers[0]), to_double(numbers[1]));
}

template <class Compare>
constexpr SymbolicFunction compare = &binary<Compare{}, Compare{}>;

template <auto function>
c10::IValue unary(const Numbers& numbers) {
  require_count(numbers, 1);
  return function(numbers[0]);
}

template <auto on_integers, auto on_booleans>
c10::IValue logical(const Numbers& numbers) {
  require_count(numbers, 2);
  if (numbers[0].isBool() && numbers[1].isBool()) return on_booleans(numbers[0].toBool(), numbers[1].toBool());
  return on_integers(to_integer(numbers[0]), to_integer(numbers[1]));
}

c10::IValue raise_to_power(const Numbers& numbers) {
  require_count(numbers, 2);
  if (is_integer(numbers[0]) && is_integer(numbers[1]) && to_integer(numbers[1]) >= 0)
    return power(to_integer(numbers[0]), to_integer(numbers[1]));
  return std::pow(to_double(numbers[0]), to_double(numbers[1]));
}

c10::IValue divide(const Numbers& numbers) {
  require_count(numbers, 2);
  const double divisor = to_double(numbers[1]);
  if (divisor == 0) throw std::invalid_argument("divides by zero");
  return to_double(numbers[0]) / divisor;
}

template <int64_t sign>
c10::IValue signed_number(const c10::IValue& number) {
  if (is_integer(number)) return multiply(sign, to_integer(number));
  return static_cast<double>(sign) * to_double(number);
}

// Python's int() and math.trunc.
int64_t as_integer(const c10::IValue& number) {
  return is_integer(number) ? to_integer(number) : truncate(to_double(number));
}

bool invert(const c10::IValue& number) { return !to_bool(number); }

double square_root(const c10::IValue& number) { return std::sqrt(to_double(number)); }

c10::IValue choose(const Numbers& numbers) {
  require_count(numbers, 3);
  return to_bool(numbers[0]) ? numbers[1] : numbers[2];
}

double floor_divide_floats(double a, double b) {
  if (b == 0) throw std::invalid_argument("divides by zero");
  return std::floor(a / b);
}

double modulo_floats(double a, double b) {
  if (b == 0) throw std::invalid_argument("divides by zero");
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t shift_left(int64_t a, int64_t b) {
  if (b < 0 || b > 62) throw std::invalid_argument("shifts by " + std::to_string(b) + " bits; expected 0 to 62");
  return multiply(a, int64_t{1} << b);
}

int64_t shift_right(int64_t a, int64_t b) {
  if (b < 0) throw std::invalid_argument("shifts by a negative number of bits");
  return a >> std::min<int64_t>(b, 63);
}

template <class Number>
Number larger(Number a, Number b) {
  return std::max(a, b);
}
template <class Number>
Number smaller(Number a, Number b) {
  return std::min(a, b);
}

double refuse_shift(double, double) { throw std::invalid_argument("shifts a float"); }

}  // namespace

SymbolicFunction find_symbolic(const std::string& target) {
  static const std::map<std::string, SymbolicFunction> functions = {
      {"_operator.eq", compare<std::equal_to<>>},
      {"_operator.ne", compare<std::not_equal_to<>>},
      {"_operator.le", compare<std::less_equal<>>},
      {"_operator.ge", compare<std::greater_equal<>>},
      {"_operator.lt", compare<std::less<>>},
      {"_operator.gt", compare<std::greater<>>},
      {"_operator.add", &binary<&add, std::plus<>{}>},
      {"_operator.sub", &binary<&subtract, std::minus<>{}>},
      {"_operator.mul", &binary<&multiply, std::multiplies<>{}>},
      {"_operator.floordiv", &binary<&floor_divide, &floor_divide_floats>},
      {"_operator.mod", &binary<&modulo, &modulo_floats>},
      {"_operator.pow", &raise_to_power},
      {"_operator.truediv", &divide},
      {"_operator.neg", &unary<&signed_number<-1>>},
      {"_operator.pos", &unary<&signed_number<1>>},
      {"_operator.and_", &logical<std::bit_and<>{}, std::logical_and<>{}>},
      {"_operator.or_", &logical<std::bit_or<>{}, std::logical_or<>{}>},
      {"_operator.lshift", &binary<&shift_left, &refuse_shift>},
      {"_operator.rshift", &binary<&shift_right, &refuse_shift>},
      {"math.trunc", &unary<&as_integer>},
      {"torch.sym_int", &unary<&as_integer>},
      {"torch.sym_float", &unary<&to_double>},
      {"torch.sym_not", &unary<&invert>},
      {"torch.sym_ite", &choose},
      {"torch.sym_max", &binary<&larger<int64_t>, &larger<double>>},
      {"torch.sym_min", &binary<&smaller<int64_t>, &smaller<double>>},
      {"torch.sym_sqrt", &unary<&square_root>},
      {"torch._sym_sqrt", &unary<&square_root>},
  };
  const auto found = functions.find(target);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace exported
