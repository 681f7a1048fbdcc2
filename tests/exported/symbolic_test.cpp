// Arithmetic on sizes has Python's results.
#include "plugins/models/exported/compile.h"

#include <limits>
#include <stdexcept>

#include "tests/doctest_with_torch.h"

namespace symbolic_test {

namespace {

using Numbers = std::vector<c10::IValue>;

c10::IValue compute(const std::string& target, const Numbers& numbers) {
  const exported::SymbolicFunction function = exported::find_symbolic(target);
  const bool is_known = function != nullptr;
  REQUIRE_MESSAGE(is_known, target);
  return function(numbers);
}

int64_t integer(const std::string& target, const Numbers& numbers) {
  const c10::IValue result = compute("_operator." + target, numbers);
  REQUIRE(result.isInt());
  return result.toInt();
}

bool boolean(const std::string& target, const Numbers& numbers) {
  const c10::IValue result = compute(target, numbers);
  REQUIRE(result.isBool());
  return result.toBool();
}

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

}  // namespace

TEST_CASE("arithmetic on symbolic integers has Python's results") {
  CHECK(integer("add", {3, 4}) == 7);
  CHECK(integer("sub", {3, 4}) == -1);
  CHECK(integer("mul", {3, 4}) == 12);
  CHECK(integer("floordiv", {7, 2}) == 3);
  CHECK(integer("floordiv", {-7, 2}) == -4);
  CHECK(integer("floordiv", {7, -2}) == -4);
  CHECK(integer("mod", {-7, 3}) == 2);
  CHECK(integer("mod", {7, -3}) == -2);
  CHECK(integer("pow", {2, 10}) == 1024);
  CHECK(integer("pow", {-1, kLargest}) == -1);
  CHECK(integer("neg", {5}) == -5);
  CHECK(integer("and_", {6, 3}) == 2);
  CHECK(integer("or_", {6, 3}) == 7);
  CHECK(integer("lshift", {3, 4}) == 48);
  CHECK(integer("rshift", {-3, 1}) == -2);
  CHECK(compute("torch.sym_max", {3, 4}).toInt() == 4);
  CHECK(compute("torch.sym_min", {3, 4.5}).toDouble() == 3);
  CHECK(compute("torch.sym_ite", {false, 3, 4}).toInt() == 4);
}

TEST_CASE("comparisons and conversions of symbolic numbers have Python's results") {
  CHECK(boolean("_operator.lt", {3, 4}));
  CHECK(!boolean("_operator.gt", {3, 4.5}));
  CHECK(boolean("_operator.le", {4, 4}));
  CHECK(boolean("_operator.ge", {4, 4}));
  CHECK(boolean("_operator.eq", {4, 4.0}));
  CHECK(!boolean("_operator.ne", {4, 4}));
  CHECK(boolean("torch.sym_not", {0}));
  CHECK(boolean("_operator.and_", {true, true}));
  CHECK(compute("_operator.truediv", {7, 2}).toDouble() == 3.5);
  CHECK(compute("_operator.pow", {2, -1}).toDouble() == 0.5);
  CHECK(compute("math.trunc", {-2.7}).toInt() == -2);
  CHECK(compute("torch.sym_float", {3}).toDouble() == 3.0);
  CHECK(compute("torch.sym_sqrt", {9}).toDouble() == 3.0);
}

TEST_CASE("results beyond 64 bits, division by zero and wrong operands are refused") {
  CHECK_THROWS_WITH_AS(integer("add", {kLargest, 1}), "the result exceeds 64 bits", std::invalid_argument);
  CHECK_THROWS_WITH_AS(integer("mul", {kLargest, 2}), "the result exceeds 64 bits", std::invalid_argument);
  CHECK_THROWS_WITH_AS(integer("pow", {2, kLargest}), "the result exceeds 64 bits", std::invalid_argument);
  CHECK_THROWS_WITH_AS(integer("floordiv", {-kLargest - 1, -1}), "the result exceeds 64 bits", std::invalid_argument);
  CHECK_THROWS_WITH_AS(integer("mod", {1, 0}), "divides by zero", std::invalid_argument);
  CHECK_THROWS_WITH_AS(integer("lshift", {1, 63}), "shifts by 63 bits; expected 0 to 62", std::invalid_argument);
  CHECK_THROWS_WITH_AS(compute("math.trunc", {1e300}), "the result exceeds 64 bits", std::invalid_argument);
  CHECK_THROWS_WITH_AS(integer("add", {1}), "has 1 arguments; expected 2", std::invalid_argument);
  CHECK_THROWS_WITH_AS(integer("add", {at::Tensor(), 1}), "an operand is not an integer", std::invalid_argument);
  const bool is_known = exported::find_symbolic("os.system") != nullptr;
  CHECK(!is_known);
}

}  // namespace symbolic_test
