// The comparison of gradients with numerical ones, on functions with known gradients.
#include "framework/validation/checks/gradcheck.h"
#include "tests/doctest_with_torch.h"

using tenon::validation::compare_gradients;
using tenon::validation::GradientComparison;

namespace {

GradientComparison compare(const std::function<at::Tensor(const at::Tensor&)>& function) {
  const at::Tensor x = torch::full({1}, 0.25, torch::kDouble).requires_grad_(true);
  return compare_gradients([&] { return function(x).sum(); }, {{"x", x}}, 1);
}

}  // namespace

TEST_CASE("a gradient of 1e9 agrees with the numerical one") {
  const GradientComparison comparison = compare([](const at::Tensor& x) { return at::tanh((x - 0.25) * 1e9); });
  CHECK(comparison.difference == "");
  CHECK(comparison.inconclusive == 0);
  CHECK(comparison.compared == 1);
}

TEST_CASE("a wrong gradient differs, also if it is large") {
  for (const double slope : {1e-3, 1.0, 1e9}) {
    // The value has the slope, but only half of it has a gradient.
    const GradientComparison comparison = compare([&](const at::Tensor& x) {
      const at::Tensor value = at::tanh((x - 0.25) * slope);
      return value * 0.5 + value.detach() * 0.5;
    });
    CAPTURE(slope);
    CHECK(comparison.difference.starts_with("the gradient with respect to element 0 of x is "));
  }
}

TEST_CASE("a function that changes more than its step shows is not compared") {
  const GradientComparison comparison = compare([](const at::Tensor& x) { return x * 0 + at::sin(x.detach() * 1e12); });
  CHECK(comparison.difference == "");
  CHECK(comparison.inconclusive == 1);
}
