// Compares the gradients of depthwise convolutions in channels_last with LibTorch's in double precision.
#include <torch/torch.h>

#include <array>
#include <vector>

#include "framework/operators/batch_norm.h"
#include "tests/doctest_with_torch.h"

namespace depthwise_gradient_test {

namespace {

using at::Tensor;

struct Case {
  int64_t images, channels;
  std::vector<int64_t> size, kernel, stride, padding, dilation;
};

struct Gradients {
  Tensor input, weight, bias;
};

Gradients compute(const Case& one, const Tensor& gradient, const Tensor& input, const Tensor& weight) {
  const auto [of_input, of_weight, of_bias] =
      at::convolution_backward(gradient, input, weight, {{one.channels}}, one.stride, one.padding, one.dilation,
                               /*transposed=*/false, {0, 0}, one.channels, {true, true, true});
  return {of_input, of_weight, of_bias};
}

Gradients compute_with(const Case& one, const std::array<Tensor, 3>& values, const auto& change) {
  return compute(one, change(values[0]), change(values[1]), change(values[2]));
}

// The numbers are exact in `type`.
std::array<Tensor, 3> make_values(const Case& one, at::ScalarType type) {
  // Ensures that the replaced operators are linked.
  REQUIRE((tenon::operators::batch_norm_hooks().normalise == nullptr));
  torch::manual_seed(1);
  const auto make = [&](at::IntArrayRef shape) {
    return torch::randn(shape).to(type).contiguous(at::MemoryFormat::ChannelsLast);
  };
  const Tensor input = make({one.images, one.channels, one.size[0], one.size[1]});
  const Tensor weight = make({one.channels, 1, one.kernel[0], one.kernel[1]});
  const Tensor output = at::convolution(input, weight, {}, one.stride, one.padding, one.dilation,
                                        /*transposed=*/false, {0, 0}, one.channels);
  return {make(output.sizes()), input, weight};
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> made;
    for (const int64_t channels : {2, 8, 13, 40, 72}) {
      made.push_back({3, channels, {2, 2}, {5, 5}, {1, 1}, {2, 2}, {1, 1}});
      made.push_back({3, channels, {3, 2}, {5, 3}, {2, 2}, {2, 1}, {1, 1}});
      made.push_back({1, channels, {1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1}});
      made.push_back({5, channels, {14, 9}, {3, 3}, {2, 1}, {1, 1}, {1, 1}});
      made.push_back({2, channels, {9, 11}, {3, 2}, {1, 3}, {2, 0}, {2, 3}});
      made.push_back({2, channels, {4, 6}, {1, 1}, {2, 2}, {0, 0}, {1, 1}});
      made.push_back({2, channels, {4, 4}, {3, 3}, {3, 3}, {5, 4}, {1, 1}});
      made.push_back({1, channels, {40, 300}, {3, 3}, {1, 1}, {1, 1}, {1, 1}});
      made.push_back({40, channels, {9, 9}, {7, 7}, {1, 1}, {3, 3}, {1, 1}});
    }
    return made;
  }();
  return all;
}

void check_differences(const Tensor& found, const Tensor& expected, const Tensor& sums, double sum_error,
                       double rounding) {
  const Tensor most = sums * sum_error + expected.abs() * rounding;
  CHECK(found.sizes() == expected.sizes());
  CHECK(((found.to(at::kDouble) - expected).abs() <= most).all().item<bool>());
}

}  // namespace

TEST_CASE("gradients of depthwise convolutions are those of LibTorch in double precision") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const Case& one : cases()) {
      CAPTURE(at::toString(type));
      CAPTURE(one.channels);
      CAPTURE(one.size[1]);
      CAPTURE(one.kernel[0]);
      const std::array<Tensor, 3> values = make_values(one, type);
      const Gradients found = compute_with(one, values, [](const Tensor& tensor) { return tensor; });
      const Gradients expected = compute_with(one, values, [](const Tensor& tensor) { return tensor.to(at::kDouble); });
      // The sums of the products' absolute values.
      const Gradients sums =
          compute_with(one, values, [](const Tensor& tensor) { return tensor.to(at::kDouble).abs(); });
      CHECK(found.weight.scalar_type() == type);
      const double unit = 0x1p-24, rounding = type == at::kFloat ? unit : 0x1p-8;
      // A run in float has fewer products than 128 and one row of outputs; each adds at most one rounding of the sum
      // and one of the product. Double precision adds far less than one unit.
      const auto products = static_cast<double>(2 * (128 + found.input.size(3)) + 1);
      check_differences(found.weight, expected.weight, sums.weight, products * unit, rounding);
      const auto taps = static_cast<double>(one.kernel[0] * one.kernel[1]);
      // With a stride, the sums are in float. LibTorch's own kernels may round partial sums to the type.
      const double sum_error = 2 * taps * (one.stride == std::vector<int64_t>{1, 1} ? rounding : unit);
      check_differences(found.input, expected.input, sums.input, sum_error, rounding);
      CHECK(found.bias.scalar_type() == type);
    }
  }
}

TEST_CASE("the gradient of depthwise weights has the same bits with any number of threads") {
  const int threads = at::get_num_threads();
  for (const Case& one : cases()) {
    const std::array<Tensor, 3> values = make_values(one, at::kFloat);
    std::vector<Tensor> found;
    for (const int number : {1, 2, 3}) {
      at::set_num_threads(number);
      found.push_back(compute(one, values[0], values[1], values[2]).weight);
    }
    CHECK(found[0].equal(found[1]));
    CHECK(found[0].equal(found[2]));
  }
  at::set_num_threads(threads);
}

TEST_CASE("only the gradients of the output mask are computed") {
  const Case& one = cases()[0];
  const std::array<Tensor, 3> values = make_values(one, at::kFloat);
  const auto [of_input, of_weight, of_bias] =
      at::convolution_backward(values[0], values[1], values[2], {{one.channels}}, one.stride, one.padding, one.dilation,
                               false, {0, 0}, one.channels, {false, true, false});
  CHECK_FALSE(of_input.defined());
  CHECK_FALSE(of_bias.defined());
  CHECK(of_weight.equal(compute(one, values[0], values[1], values[2]).weight));
}

TEST_CASE("a gradient with another size than the output of a depthwise convolution is refused as by LibTorch") {
  const Case& one = cases()[3];
  const std::array<Tensor, 3> values = make_values(one, at::kFloat);
  const Tensor narrow = values[0].narrow(3, 0, 2).contiguous(at::MemoryFormat::ChannelsLast);
  CHECK_THROWS(compute(one, narrow, values[1], values[2]));
}

}  // namespace depthwise_gradient_test
