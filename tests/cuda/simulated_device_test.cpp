#include "tests/cuda/simulated_device.h"

#include <torch/types.h>

#include <functional>

#include "tests/cuda/tested_device.h"
#include "tests/doctest_with_torch.h"

namespace tenon::simulated {
namespace {

const c10::Device kCuda(c10::kCUDA, 0);

int64_t waits_of(const std::function<void()>& body) {
  const int64_t before = tests::device_waits();
  body();
  return tests::device_waits() - before;
}

}  // namespace

TEST_CASE("the device computes the same results as the CPU and keeps them") {
  const at::Tensor a = torch::rand({3, 4}), b = torch::rand({4, 2});
  const at::Tensor product = at::relu(at::matmul(a.to(kCuda), b.to(kCuda)) - 1).transpose(0, 1).sum(0);
  CHECK(product.device() == kCuda);
  CHECK(torch::equal(product.cpu(), at::relu(at::matmul(a, b) - 1).transpose(0, 1).sum(0)));
}

TEST_CASE("a gradient is computed on the device") {
  const at::Tensor weight = torch::ones({3}, at::TensorOptions(kCuda).requires_grad(true));
  (weight * weight).sum().backward();
  CHECK(weight.grad().device() == kCuda);
  CHECK(torch::equal(weight.grad().cpu(), torch::full({3}, 2.0f)));
}

TEST_CASE("CPU tensors are refused together with device tensors, but scalars are accepted") {
  const at::Tensor on_device = torch::ones({3}, kCuda);
  CHECK_THROWS_AS(on_device + torch::ones({3}), c10::Error);
  CHECK(torch::equal((on_device + torch::tensor(2.0f)).cpu(), torch::full({3}, 3.0f)));
}

TEST_CASE("reading a number synchronises, and so does copying from and to memory that is not pinned") {
  const at::Tensor value = torch::ones({}, kCuda);
  CHECK(waits_of([&] { CHECK(value.item<float>() == 1); }) == 1);
  CHECK(waits_of([&] { (void)value.cpu(); }) == 1);
  CHECK(waits_of([&] { (void)torch::ones({2}).to(kCuda); }) == 1);
  CHECK(waits_of([&] { (void)torch::ones({2}).to(kCuda, at::kFloat, /*non_blocking=*/true); }) == 0);
  CHECK(waits_of([&] { (void)torch::ones({20000}).to(kCuda, at::kFloat, /*non_blocking=*/true); }) == 1);
  const at::Tensor pinned = torch::ones({20000}, at::TensorOptions().pinned_memory(true));
  CHECK(waits_of([&] { (void)pinned.to(kCuda, at::kFloat, /*non_blocking=*/true); }) == 0);
  CHECK(waits_of([&] { (void)pinned.to(kCuda); }) == 1);
  CHECK(waits_of([&] { (void)(value + 1).exp().sum(); }) == 0);
  (void)take_wait_names();
  CHECK(waits_of([&] { (void)torch::ones({3}, kCuda).nonzero(); }) == 1);
  CHECK(take_wait_names() == std::vector<std::string>{"aten::nonzero"});
}

}  // namespace tenon::simulated
