#include "framework/pipeline/loop/batch_graphs.h"

#include <torch/types.h>

#include <limits>

#include "tests/doctest_with_torch.h"

namespace compare_repeats_test {

using tenon::pipeline::is_repeated;

namespace {

// Two tensors: gradients that do not repeat exactly, and others.
std::vector<at::Tensor> numbers(float first, float second, at::ScalarType dtype = at::kFloat) {
  return {at::full({3}, first, dtype), at::tensor({1.0F, second}).to(dtype)};
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kUnit = std::numeric_limits<float>::epsilon();

}  // namespace

TEST_CASE("a replay may differ by what any tensor differs between usual runs") {
  const auto usual = numbers(2, 1);
  CHECK(is_repeated(usual, usual, usual));
  // The first tensor repeats to 1e-4. The second one agreed in this pair of runs, and may differ in the next.
  const auto again = numbers(2.0002F, 1);
  CHECK(is_repeated(usual, again, numbers(2, 1.0009F)));
  CHECK_FALSE(is_repeated(usual, again, numbers(2, 1.002F)));
  CHECK_FALSE(is_repeated(usual, again, numbers(2.003F, 1)));
}

TEST_CASE("a replay may differ in the last places where runs repeat exactly") {
  const auto usual = numbers(2, 1);
  CHECK(is_repeated(usual, usual, numbers(2, 1 + 4 * kUnit)));
  CHECK_FALSE(is_repeated(usual, usual, numbers(2, 1 + 6 * kUnit)));
  CHECK(is_repeated(numbers(2, 1, at::kHalf), numbers(2, 1, at::kHalf), numbers(2, 1.003F, at::kHalf)));
  CHECK_FALSE(is_repeated(numbers(2, 1, at::kHalf), numbers(2, 1, at::kHalf), numbers(2, 1.006F, at::kHalf)));
  CHECK_FALSE(is_repeated(numbers(2, 1, at::kLong), numbers(2, 1, at::kLong), numbers(2, 2, at::kLong)));
}

TEST_CASE("numbers that are not finite must be the same") {
  CHECK(is_repeated(numbers(kNaN, 1), numbers(kNaN, 1), numbers(kNaN, 1)));
  CHECK_FALSE(is_repeated(numbers(2, 1), numbers(2, 1), numbers(2, kNaN)));
  CHECK_FALSE(is_repeated(numbers(2, kNaN), numbers(2, kNaN), numbers(2, 1)));
  CHECK_FALSE(is_repeated(numbers(0, 1), numbers(0, 1), numbers(1e-30F, 1)));
  CHECK_FALSE(is_repeated(numbers(2, 1), numbers(2, 1), {}));
  CHECK(is_repeated({at::empty({0})}, {at::empty({0})}, {at::empty({0})}));
}

}  // namespace compare_repeats_test
