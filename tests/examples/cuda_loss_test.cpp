// The loss of examples/cuda_loss on the CPU. tests/cuda/custom_kernels_test.cpp tests its kernels.
#include <fcntl.h>
#include <torch/nn/functional.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "framework/components/loading/elf_image.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/validation/checks/gradcheck.h"
#include "tests/doctest_with_torch.h"
#include "tests/examples/opened_cuda_loss.h"

using namespace tenon::examples;
namespace F = torch::nn::functional;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kIgnored = -100;

at::Tensor random_target(int64_t rows, int64_t classes) { return torch::randint(classes, {rows}, torch::kLong); }

// Compares with LibTorch in double precision.
void check_equals_libtorch(const at::Tensor& logits, const at::Tensor& target, double tolerance) {
  const ComputedLoss ours = compute(open_cuda_loss(kIgnored), logits, target);
  const at::Tensor input = logits.detach().to(torch::kDouble).requires_grad_(true);
  const at::Tensor loss =
      F::cross_entropy(input, target, F::CrossEntropyFuncOptions().ignore_index(kIgnored).reduction(torch::kMean));
  loss.backward();
  CHECK(ours.loss.scalar_type() == logits.scalar_type());
  CHECK(ours.loss.item<double>() == doctest::Approx(loss.item<double>()).epsilon(tolerance));
  CHECK(ours.weight.item<int64_t>() == target.ne(kIgnored).sum().item<int64_t>());
  CHECK(torch::allclose(ours.gradient.to(torch::kDouble), input.grad(), tolerance, tolerance));
}

}  // namespace

TEST_CASE("the fused loss and its gradient equal LibTorch's") {
  torch::manual_seed(1);
  for (const int64_t rows : {1, 7, 64}) {
    for (const int64_t classes : {1, 2, 33, 1000}) {
      CAPTURE(rows);
      CAPTURE(classes);
      const at::Tensor logits = torch::randn({rows, classes}, torch::kDouble) * 4;
      at::Tensor target = random_target(rows, classes);
      check_equals_libtorch(logits, target, 1e-12);
      check_equals_libtorch(logits.to(torch::kFloat), target, 2e-6);
      if (rows == 1) continue;
      target[0] = kIgnored;
      check_equals_libtorch(logits, target, 1e-12);
    }
  }
}

TEST_CASE("large logits do not overflow, and transposed logits are copied") {
  torch::manual_seed(2);
  const at::Tensor target = random_target(5, 9);
  check_equals_libtorch(torch::randn({5, 9}) * 1000, target, 1e-6);
  check_equals_libtorch(torch::randn({9, 5}, torch::kDouble).t(), target, 1e-12);
}

TEST_CASE("the gradient of the fused loss equals the numerical gradient") {
  torch::manual_seed(3);
  const auto loss = open_cuda_loss();
  const at::Tensor logits = torch::randn({6, 5}, torch::kDouble).requires_grad_(true);
  const at::Tensor target = random_target(6, 5);
  const auto value = [&] { return loss.forward({.training = true}, {logits, target}).loss; };
  const tenon::validation::GradientComparison comparison =
      tenon::validation::compare_gradients(value, {{"logits", logits}}, 3);
  CHECK(comparison.difference == "");
  CHECK(comparison.inconclusive == 0);
}

TEST_CASE("the fused loss of ignored targets only, or of no rows, is 0 with the weight 0") {
  for (const int64_t rows : {0, 3}) {
    const ComputedLoss ours = compute(open_cuda_loss(), torch::randn({rows, 4}), torch::full({rows}, kIgnored));
    CHECK(ours.loss.item<float>() == 0);
    CHECK(ours.weight.item<int64_t>() == 0);
    CHECK(torch::equal(ours.gradient, torch::zeros({rows, 4})));
  }
}

TEST_CASE("the fused loss is NaN for a target that is not a class, and for a logit that is NaN") {
  const auto loss_of = [](const at::Tensor& logits, int64_t target) {
    return compute(open_cuda_loss(), logits, torch::full({1}, target)).loss.item<float>();
  };
  CHECK(std::isnan(loss_of(torch::zeros({1, 4}), 4)));
  CHECK(std::isnan(loss_of(torch::zeros({1, 4}), -1)));
  CHECK(std::isnan(loss_of(torch::tensor({{0.f, std::numeric_limits<float>::quiet_NaN(), 0.f, 0.f}}), 0)));
  CHECK(loss_of(torch::zeros({1, 4}), 3) == doctest::Approx(std::log(4.0)));
}

TEST_CASE("the ports of the fused loss refuse half precision") {
  const auto loss = open_cuda_loss();
  const tenon::components::Port& logits = loss.inputs().front();
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    CAPTURE(dtype);
    tenon::components::Extents extents;
    const bool is_half = dtype == at::kHalf || dtype == at::kBFloat16;
    CHECK(find_mismatch(torch::zeros({2, 3}, dtype), logits, extents).has_value() == is_half);
  }
}

TEST_CASE("the plugin contains the CUDA runtime, so that it loads on machines without CUDA") {
  const int file = open(cuda_loss_file().c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  const std::vector<std::string> needed = tenon::components::ElfImage(file, fs::file_size(cuda_loss_file())).needed();
  close(file);
  for (const std::string& library : needed) {
    CAPTURE(library);
    CHECK(library.find("cuda") == std::string::npos);
  }
}
