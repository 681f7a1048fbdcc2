#include "tests/bundled/scattered_numbers.h"

#include "tests/doctest_with_torch.h"

namespace tenon::bundled {

at::Tensor scatter(at::IntArrayRef shape, int64_t salt) {
  const at::Tensor index = torch::arange(c10::multiply_integers(shape));
  const at::Tensor numbers = (index * index * 31 + index * 17 + salt * 101).remainder(65521);
  return (numbers.to(torch::kDouble) / 65521 - 0.5).reshape(shape);
}

at::Tensor sketch(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(torch::kDouble).flatten();
  return torch::stack({flat.norm(), flat[0], flat[flat.numel() / 2], flat[-1]});
}

double largest_difference(const at::Tensor& found, const at::Tensor& expected) {
  REQUIRE(found.sizes() == expected.sizes());
  return ((found.detach().to(torch::kDouble) - expected).abs().max() / expected.abs().max()).item<double>();
}

}  // namespace tenon::bundled
