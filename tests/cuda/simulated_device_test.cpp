#include "tests/cuda/simulated_device.h"

#include <torch/types.h>

#include <functional>

#include "tests/cuda/tested_device.h"
#include "tests/doctest_with_torch.h"

namespace tenon::simulated {
namespace {

const c10::Device kCuda(c10::kCUDA, 0);

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

TEST_CASE("convolutions and recurrent cells have the outputs and gradients of the CPU") {
  std::vector<at::Tensor> tensors;
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {2, 4, 6, 6}, {4, 1, 3, 3}, {4, 3, 2, 2}, {2, 4}, {2, 3}, {9, 4}, {9, 3}, {9}, {9}})
    tensors.push_back(torch::randn(shape));
  const auto results_on = [&](const c10::Device& device) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& tensor : tensors) leaves.push_back(tensor.clone().to(device).requires_grad_(true));
    const at::Tensor depthwise = at::conv2d(leaves[0], leaves[1], {}, 1, 1, 1, /*groups=*/4);
    const at::Tensor transposed = at::conv_transpose2d(depthwise, leaves[2], {}, 2);
    const at::Tensor state = at::gru_cell(leaves[3], leaves[4], leaves[5], leaves[6], leaves[7], leaves[8]);
    (transposed.square().sum() + state.square().sum()).backward();
    std::vector<at::Tensor> results{transposed.detach().cpu(), state.detach().cpu()};
    for (const at::Tensor& leaf : leaves) results.push_back(leaf.grad().cpu());
    return results;
  };
  const std::vector<at::Tensor> expected = results_on(c10::kCPU), found = results_on(kCuda);
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(at::allclose(found[i], expected[i], 1e-4, 1e-5));
  }
}

TEST_CASE("softmax converts half precision to single precision, and its gradient back") {
  const at::Tensor expected = torch::randn({2, 3}).to(at::kHalf).requires_grad_(true);
  const at::Tensor found = expected.detach().to(kCuda).requires_grad_(true);
  at::softmax(expected.to(at::kFloat), 1).square().sum().backward();
  at::softmax(found, 1, at::kFloat).square().sum().backward();
  CHECK(torch::equal(found.grad().cpu(), expected.grad()));
}

TEST_CASE("CPU tensors are refused together with device tensors, but scalars are accepted") {
  const at::Tensor on_device = torch::ones({3}, kCuda);
  CHECK_THROWS_AS(on_device + torch::ones({3}), c10::Error);
  CHECK(torch::equal((on_device + torch::tensor(2.0f)).cpu(), torch::full({3}, 3.0f)));
}

TEST_CASE("reading a number synchronises, and so does copying from and to memory that is not pinned") {
  const at::Tensor value = torch::ones({}, kCuda);
  CHECK(tests::waits_of([&] { CHECK(value.item<float>() == 1); }) == 1);
  CHECK(tests::waits_of([&] { (void)value.cpu(); }) == 1);
  CHECK(tests::waits_of([&] { (void)torch::ones({2}).to(kCuda); }) == 1);
  CHECK(tests::waits_of([&] { (void)torch::ones({2}).to(kCuda, at::kFloat, /*non_blocking=*/true); }) == 0);
  CHECK(tests::waits_of([&] { (void)torch::ones({20000}).to(kCuda, at::kFloat, /*non_blocking=*/true); }) == 1);
  const at::Tensor pinned = torch::ones({20000}, at::TensorOptions().pinned_memory(true));
  CHECK(tests::waits_of([&] { (void)pinned.to(kCuda, at::kFloat, /*non_blocking=*/true); }) == 0);
  CHECK(tests::waits_of([&] { (void)pinned.to(kCuda); }) == 1);
  CHECK(tests::waits_of([&] { (void)(value + 1).exp().sum(); }) == 0);
  (void)take_wait_names();
  CHECK(tests::waits_of([&] { (void)torch::ones({3}, kCuda).nonzero(); }) == 1);
  CHECK(take_wait_names() == std::vector<std::string>{"aten::nonzero"});
}

TEST_CASE("dtypes that CUDA's kernels lack are refused") {
  const std::vector<at::Tensor> gradients{torch::ones({2}, at::TensorOptions(kCuda).dtype(at::kBFloat16))};
  at::Tensor found = torch::zeros({}, kCuda);
  CHECK_THROWS_AS(at::_amp_foreach_non_finite_check_and_unscale_(gradients, found, torch::ones({}, kCuda)), c10::Error);
  const at::Tensor integers = torch::ones({2, 2}, at::TensorOptions(kCuda).dtype(at::kLong));
  CHECK_THROWS_AS(at::mm(integers, integers), c10::Error);
}

TEST_CASE("an operator on a list of one dtype counts as one launch") {
  const auto launches_of = [](const std::function<void()>& body) {
    const int64_t before = launches();
    body();
    return launches() - before;
  };
  std::vector<at::Tensor> tensors(5);
  for (at::Tensor& tensor : tensors) tensor = torch::ones({3}, kCuda);
  CHECK(launches_of([&] { at::_foreach_add_(tensors, 1); }) == 1);
  for (const at::Tensor& tensor : tensors) CHECK(tensor.eq(2).all().item<bool>());
  tensors[4] = tensors[4].to(at::kDouble);
  CHECK(launches_of([&] { at::_foreach_add_(tensors, 1); }) == 5);
}

}  // namespace tenon::simulated
