// Compares with counts by hand. tests/end_to_end/profile_test.cpp compares whole networks with the counter of PyTorch.
#include "framework/profiling/operator_log.h"

#include <torch/nn/functional.h>

#include <functional>

#include "tests/doctest_with_torch.h"

using namespace tenon::profiling;

namespace {

int64_t count(const std::function<void()>& work) {
  const OperatorLog log({});
  work();
  return log.macs();
}

int64_t count_forward(const std::function<at::Tensor()>& work) {
  return count([&] { work(); });
}

// Counts only backward.
int64_t count_backward(const std::function<at::Tensor()>& work) {
  const at::Tensor sum = work().sum();
  return count([&] { sum.backward(); });
}

at::Tensor numbers(at::IntArrayRef shape) { return torch::rand(shape); }
at::Tensor trained(at::IntArrayRef shape) { return torch::rand(shape, torch::requires_grad()); }

}  // namespace

TEST_CASE("a matrix product has rows x columns x inner dimension MACs") {
  CHECK(count_forward([] { return torch::mm(numbers({3, 4}), numbers({4, 5})); }) == 3 * 4 * 5);
  CHECK(count_forward([] { return torch::bmm(numbers({2, 3, 4}), numbers({2, 4, 5})); }) == 2 * 3 * 4 * 5);
  CHECK(count_forward([] { return torch::matmul(numbers({2, 7, 3, 4}), numbers({4, 5})); }) == 2 * 7 * 3 * 4 * 5);
  CHECK(count_forward([] { return torch::linear(numbers({6, 4}), numbers({5, 4}), numbers({5})); }) == 6 * 4 * 5);
  CHECK(count_forward([] {
          return torch::baddbmm(numbers({2, 3, 5}), numbers({2, 3, 4}), numbers({2, 4, 5}));
        }) == 2 * 3 * 4 * 5);
  CHECK(count_forward([] { return torch::mv(numbers({3, 4}), numbers({4})); }) == 3 * 4);
  CHECK(count_forward([] { return torch::dot(numbers({9}), numbers({9})); }) == 9);
  CHECK(count_forward([] {
          return torch::einsum("bij,bjk->bik", {numbers({2, 3, 4}), numbers({2, 4, 5})});
        }) == 2 * 3 * 4 * 5);
}

TEST_CASE("each requested gradient of a matrix product has as many MACs") {
  const at::Tensor weight = trained({5, 4});
  CHECK(count_backward([&] { return torch::linear(numbers({6, 4}), weight); }) == 6 * 4 * 5);
  CHECK(count_backward([&] { return torch::linear(trained({6, 4}), weight); }) == 2 * 6 * 4 * 5);
}

TEST_CASE("a convolution uses its weight once per position of its output") {
  namespace F = torch::nn::functional;
  const at::Tensor weight = trained({8, 3, 5, 3});
  const auto options = F::Conv2dFuncOptions().stride({2, 1}).padding({2, 0}).dilation({1, 2});
  // [11, 12] gives (11 + 4 - 4 - 1) / 2 + 1 = 6 rows and 12 - 4 = 8 columns.
  const auto convolve = [&](const at::Tensor& image) { return F::conv2d(image, weight, options); };
  const int64_t macs = int64_t{2} * 6 * 8 * weight.numel();
  CHECK(convolve(numbers({2, 3, 11, 12})).sizes() == at::IntArrayRef{2, 8, 6, 8});
  CHECK(count_forward([&] { return convolve(numbers({2, 3, 11, 12})); }) == macs);
  CHECK(count_backward([&] { return convolve(numbers({2, 3, 11, 12})); }) == macs);
  CHECK(count_backward([&] { return convolve(trained({2, 3, 11, 12})); }) == 2 * macs);
}

TEST_CASE("a grouped convolution is a convolution of each group, and so are its gradients") {
  namespace F = torch::nn::functional;
  const at::Tensor weight = trained({12, 1, 3, 3});
  const auto options = F::Conv2dFuncOptions().groups(12).padding(1);
  const int64_t macs = int64_t{2} * 5 * 5 * 12 * 9;
  CHECK(count_forward([&] { return F::conv2d(numbers({2, 12, 5, 5}), weight, options); }) == macs);
  CHECK(count_backward([&] { return F::conv2d(trained({2, 12, 5, 5}), weight, options); }) == 2 * macs);
}

TEST_CASE("a transposed convolution uses its weight once per position of its input") {
  namespace F = torch::nn::functional;
  const at::Tensor weight = trained({4, 6, 2, 2});
  const auto options = F::ConvTranspose2dFuncOptions().stride(2);
  const int64_t macs = int64_t{2} * 5 * 7 * weight.numel();
  CHECK(count_forward([&] { return F::conv_transpose2d(numbers({2, 4, 5, 7}), weight, options); }) == macs);
  CHECK(count_backward([&] { return F::conv_transpose2d(trained({2, 4, 5, 7}), weight, options); }) == 2 * macs);
}

TEST_CASE("convolutions of one and three dimensions are counted the same way") {
  CHECK(count_forward([] { return torch::conv1d(numbers({2, 3, 10}), numbers({4, 3, 3})); }) == 2 * 8 * 4 * 3 * 3);
  CHECK(count_forward([] {
          return torch::conv3d(numbers({1, 2, 4, 5, 6}), numbers({3, 2, 2, 2, 2}));
        }) == 3 * 4 * 5 * 3 * 2 * 8);
}

TEST_CASE("attention has two products with any kernel, and its gradients have five or four") {
  const auto attend = [](const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, double dropout) {
    return torch::scaled_dot_product_attention(query, key, value, std::nullopt, dropout, /*is_causal=*/true);
  };
  // Two sequences, three heads, 4 queries by 6 keys of 8.
  const int64_t scores = int64_t{2} * 3 * 4 * 6 * 8;
  const auto query = [] { return trained({2, 3, 4, 8}); };
  const auto key = [] { return trained({2, 3, 6, 8}); };
  CHECK(count_forward([&] { return attend(query(), key(), key(), 0); }) == 2 * scores);
  CHECK(count_forward([&] { return attend(query(), key(), key(), 0.1); }) == 2 * scores);
  const int64_t fused = count_backward([&] { return attend(query(), key(), key(), 0); });
  const int64_t by_parts = count_backward([&] { return attend(query(), key(), key(), 0.1); });
  CHECK(fused == 5 * scores);  // the scores are recomputed
  CHECK(by_parts == 4 * scores);
}

TEST_CASE("operators without products count as 0") {
  CHECK(count_forward([] { return torch::relu(numbers({9, 9})) + 1; }) == 0);
  CHECK(count_forward([] { return torch::max_pool2d(numbers({1, 2, 8, 8}), 2).softmax(1); }) == 0);
}

TEST_CASE("operators that hide products are reported") {
  CHECK(is_uncounted("aten::mkldnn_rnn_layer"));
  CHECK_FALSE(is_uncounted("aten::mm"));
}
