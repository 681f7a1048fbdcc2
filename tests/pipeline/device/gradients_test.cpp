#include "framework/pipeline/device/gradients.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/doctest_with_torch.h"

using namespace tenon::pipeline;

namespace {

struct Checked {
  bool is_bad;
  at::Tensor norm;
};

Checked check(const std::vector<at::Tensor>& gradients, bool with_norm) {
  std::vector<tenon::optimization::NamedTensor> parameters;
  for (const at::Tensor& gradient : gradients) {
    parameters.push_back({"parameter", at::zeros_like(gradient).requires_grad_()});
    parameters.back().tensor.mutable_grad() = gradient;
  }
  Gradients of_parameters(parameters);
  NonFiniteFlag flag(c10::kCPU);
  of_parameters.gather();
  const at::Tensor norm = of_parameters.scale_and_check({}, flag, with_norm);
  return {flag.tensor().item<float>() != 0, norm};
}

}  // namespace

TEST_CASE("NaN and infinity are found at every place, with and without the norm") {
  for (const int64_t size : {1, 15, 16, 63, 64, 65, 200, 700'000}) {
    const std::vector<at::Tensor> gradients{at::ones({3}), at::linspace(-1, 1, size, at::kFloat)};
    for (const bool with_norm : {false, true}) {
      CHECK_FALSE(check(gradients, with_norm).is_bad);
      for (const int64_t place : {int64_t{0}, size / 2, size - 1}) {
        for (const float value : {NAN, -NAN, INFINITY, -INFINITY}) {
          CAPTURE(size);
          CAPTURE(place);
          CAPTURE(value);
          std::vector<at::Tensor> bad{gradients[0], gradients[1].clone()};
          bad[1].mutable_data_ptr<float>()[place] = value;
          CHECK(check(bad, with_norm).is_bad);
        }
      }
    }
  }
}

TEST_CASE("finite gradients with an infinite norm are finite") {
  const std::vector<at::Tensor> gradients{at::full({8}, std::numeric_limits<float>::max())};
  const Checked checked = check(gradients, /*with_norm=*/true);
  CHECK(std::isinf(checked.norm.item<float>()));
  CHECK_FALSE(checked.is_bad);
}

TEST_CASE("the norm is that of all gradients") {
  const Checked checked = check({at::full({2}, 2.0F), at::full({1}, -1.0F)}, /*with_norm=*/true);
  CHECK(checked.norm.item<float>() == 3);
  CHECK_FALSE(check({at::ones({2})}, /*with_norm=*/false).norm.defined());
}
