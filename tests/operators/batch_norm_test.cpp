// Compares the replaced operators with LibTorch's native_batch_norm and relu, in double precision.
#include <torch/torch.h>

#include <string>
#include <vector>

#include "framework/operators/batch_norm.h"
#include "tests/doctest_with_torch.h"

namespace {

using at::Tensor;

constexpr double kMomentum = 0.1;
constexpr double kEpsilon = 1e-5;

struct Layer {
  Tensor input, weight, bias, running_mean, running_variance;

  Layer(at::IntArrayRef shape, at::ScalarType type, at::MemoryFormat format = at::MemoryFormat::ChannelsLast) {
    torch::manual_seed(0);
    const int64_t channels = shape[1];
    input = (torch::randn(shape) * 2 + torch::randn({1, channels, 1, 1}) * 3).to(type).contiguous(format);
    input.requires_grad_();
    weight = (torch::rand({channels}) + 0.5).requires_grad_();
    bias = torch::randn({channels}).requires_grad_();
    running_mean = torch::randn({channels});
    running_variance = torch::rand({channels}) + 0.5;
    // Ensures that the hooks, and with them the kernels, are linked.
    REQUIRE((tenon::operators::batch_norm_hooks().normalise == nullptr));
  }

  Tensor forward() const {
    return at::batch_norm(input, weight, bias, running_mean, running_variance, /*training=*/true, kMomentum, kEpsilon,
                          /*cudnn_enabled=*/false);
  }

  // The same values in double precision, for LibTorch's operators.
  Layer in_double() const {
    Layer copy = *this;
    for (Tensor* tensor : {&copy.input, &copy.weight, &copy.bias})
      *tensor = tensor->detach().to(at::kDouble).contiguous().requires_grad_();
    for (Tensor* tensor : {&copy.running_mean, &copy.running_variance}) *tensor = tensor->to(at::kDouble);
    return copy;
  }

  Tensor reference_forward() const {
    return std::get<0>(
        at::native_batch_norm(input, weight, bias, running_mean, running_variance, true, kMomentum, kEpsilon));
  }
};

// Changes its argument.
Tensor rectify(Tensor tensor) { return torch::relu_(tensor); }

// The largest difference, in units of the largest value of the reference.
double difference(const Tensor& found, const Tensor& expected) {
  return ((found.to(at::kDouble) - expected).abs().max() / expected.abs().max()).item<double>();
}

bool is_joint(const Tensor& output) { return output.grad_fn()->name() == "BatchNormReluBackward"; }
bool is_ours(const Tensor& output) { return output.grad_fn()->name() == "BatchNormBackward"; }

const std::vector<std::vector<int64_t>> kShapes = {{4, 16, 8, 8},  {2, 3, 5, 7},    {1, 1, 1, 2},    {3, 130, 1, 1},
                                                   {8, 64, 17, 9}, {2, 1030, 2, 3}, {16, 24, 32, 32}};

}  // namespace

TEST_CASE("outputs, running statistics and gradients are those of LibTorch") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const std::vector<int64_t>& shape : kShapes) {
      CAPTURE(type);
      CAPTURE(shape);
      const Layer layer(shape, type);
      const Layer reference = layer.in_double();
      // A sum of n rounded values is off by about sqrt(n) roundings, relative to the size of the values. 16 roundings
      // cover the other operations.
      const double rounding = type == at::kFloat ? 6e-8 : 4e-3;
      const double tolerance = 16 * rounding;
      const Tensor output = layer.forward();
      CHECK(is_ours(output));
      CHECK(output.scalar_type() == type);
      CHECK(output.is_contiguous(at::MemoryFormat::ChannelsLast));
      const Tensor expected = reference.reference_forward();
      CHECK(difference(output, expected) < tolerance);
      CHECK(difference(layer.running_mean, reference.running_mean) < 1e-6);
      CHECK(difference(layer.running_variance, reference.running_variance) < 1e-6);

      const Tensor gradient = torch::randn(shape).to(type);
      output.backward(gradient);
      expected.backward(gradient.to(at::kDouble));
      // With one or two rows the gradients cancel to about zero.
      if (layer.input.numel() / layer.input.size(1) > 2)
        CHECK(difference(layer.input.grad(), reference.input.grad()) < tolerance);
      CHECK(layer.input.grad().scalar_type() == type);
      CHECK(layer.weight.grad().scalar_type() == at::kFloat);
      CHECK(difference(layer.weight.grad(), reference.weight.grad()) < 1e-5);
      CHECK(difference(layer.bias.grad(), reference.bias.grad()) < 1e-5);
    }
  }
}

TEST_CASE("batch_norm and relu_ have one backward, with the gradients of both") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Layer layer({8, 32, 12, 12}, type);
    const Layer reference = layer.in_double();
    const Tensor normalised = layer.forward();
    const Tensor is_positive = normalised.detach() > 0;
    const Tensor output = rectify(normalised);
    CHECK(is_joint(output));
    CHECK(torch::equal(output.detach() > 0, is_positive));
    const Tensor gradient = torch::randn(output.sizes()).to(type);
    output.backward(gradient);
    // Masks by the rounded output: the sign of a value near zero may differ in double precision.
    reference.reference_forward().backward(gradient.to(at::kDouble) * is_positive);
    const double tolerance = type == at::kFloat ? 1e-6 : 6e-2;
    CHECK(difference(layer.input.grad(), reference.input.grad()) < tolerance);
    CHECK(difference(layer.weight.grad(), reference.weight.grad()) < 1e-5);
    CHECK(difference(layer.bias.grad(), reference.bias.grad()) < 1e-5);
  }
}

TEST_CASE("the number of threads does not change a bit") {
  const int threads = at::get_num_threads();
  std::vector<std::vector<Tensor>> found;
  for (const int count : {1, 2, 3}) {
    at::set_num_threads(count);
    const Layer layer({16, 40, 24, 24}, at::kFloat);
    const Tensor output = rectify(layer.forward());
    output.backward(torch::ones_like(output) * 0.25);
    found.push_back({output.detach(), layer.input.grad(), layer.weight.grad(), layer.bias.grad(), layer.running_mean,
                     layer.running_variance});
  }
  at::set_num_threads(threads);
  for (size_t i = 0; i < found[0].size(); ++i) {
    CHECK(torch::equal(found[0][i], found[1][i]));
    CHECK(torch::equal(found[0][i], found[2][i]));
  }
}

TEST_CASE("NaN stays NaN in outputs and gradients") {
  const Layer layer({2, 3, 4, 4}, at::kFloat);
  {
    const torch::NoGradGuard no_grad;
    layer.input[0][1][2][3] = std::numeric_limits<float>::quiet_NaN();
  }
  const Tensor output = rectify(layer.forward());
  output.backward(torch::ones_like(output));
  CHECK(output.isnan().sum({0, 2, 3}).equal(torch::tensor({0, 32, 0})));
  CHECK(layer.input.grad().isnan().sum({0, 2, 3}).equal(torch::tensor({0, 32, 0})));
  CHECK(layer.bias.grad().isfinite().equal(torch::tensor({true, true, true})));
  CHECK(layer.weight.grad().isnan().equal(torch::tensor({false, true, false})));
}

TEST_CASE("another use of the output before relu_ keeps the gradient of the output before relu_") {
  const Layer layer({4, 8, 6, 6}, at::kFloat);
  const Layer reference = layer.in_double();
  const auto loss_of = [](const Tensor& normalised) {
    const Tensor before = normalised * 3;  // saves nothing of its input
    return (before.sum() + rectify(normalised).square().sum()) / 100;
  };
  loss_of(layer.forward()).backward();
  loss_of(reference.reference_forward()).backward();
  CHECK(difference(layer.input.grad(), reference.input.grad()) < 1e-4);
  CHECK(difference(layer.bias.grad(), reference.bias.grad()) < 1e-5);
}

TEST_CASE("a changed, viewed or observed output keeps both backwards") {
  const Layer layer({4, 8, 6, 6}, at::kFloat);
  Tensor changed = layer.forward();
  changed.add_(1);
  CHECK_FALSE(is_joint(rectify(changed)));
  Tensor observed = layer.forward();
  Tensor seen;
  observed.register_hook([&](const Tensor& gradient) { seen = gradient; });
  const Tensor output = rectify(observed);
  CHECK_FALSE(is_joint(output));
  output.sum().backward();
  CHECK(seen.defined());
  Tensor half = layer.forward().narrow(0, 0, 2);
  const Tensor part = rectify(half);
  CHECK_FALSE(is_joint(part));
  part.sum().backward();
  CHECK(layer.input.grad().defined());
}

TEST_CASE("relu_ elsewhere is LibTorch's") {
  const Tensor x = torch::tensor({-1.0f, 0.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()}).requires_grad_();
  Tensor y = x * 1;
  const int64_t version = y._version();
  rectify(y);
  CHECK(y._version() == version + 1);
  CHECK(y.grad_fn()->name() == "ReluBackward0");
  y.backward(torch::ones_like(y));
  CHECK(x.grad().equal(torch::tensor({0.0f, 0.0f, 1.0f, 1.0f})));
  const torch::NoGradGuard no_grad;
  Tensor plain = torch::tensor({-1.0f, 3.0f});
  CHECK(rectify(plain).equal(torch::tensor({0.0f, 3.0f})));
  CHECK_THROWS(([] {
    const at::AutoGradMode with_gradients(true);
    Tensor leaf = torch::ones({2}).requires_grad_();
    rectify(leaf);
  }()));
}

TEST_CASE("second derivatives are LibTorch's") {
  const Layer layer({3, 4, 5, 5}, at::kFloat);
  const Layer reference = layer.in_double();
  const auto penalty_of = [](const Layer& of, const Tensor& normalised) {
    const Tensor output = rectify(normalised);
    const std::vector<Tensor> first = torch::autograd::grad({output.square().sum()}, {of.input, of.weight, of.bias}, {},
                                                            /*retain_graph=*/true, /*create_graph=*/true);
    return first[0].square().sum() * 100 + first[1].square().sum() + first[2].square().sum();
  };
  const std::vector<Tensor> found =
      torch::autograd::grad({penalty_of(layer, layer.forward())}, {layer.input, layer.weight, layer.bias});
  const std::vector<Tensor> expected = torch::autograd::grad({penalty_of(reference, reference.reference_forward())},
                                                             {reference.input, reference.weight, reference.bias});
  for (size_t i = 0; i < found.size(); ++i) CHECK(difference(found[i], expected[i]) < 1e-4);
}

TEST_CASE("a retained graph has the same gradients again, and a released one is refused") {
  const Layer layer({3, 4, 5, 5}, at::kFloat);
  const Tensor output = rectify(layer.forward());
  output.backward(torch::ones_like(output), /*retain_graph=*/true);
  const Tensor first = layer.input.grad().clone();
  output.backward(torch::ones_like(output));
  CHECK(layer.input.grad().equal(first * 2));
  CHECK_THROWS_WITH_AS(output.backward(torch::ones_like(output)),
                       doctest::Contains("Trying to backward through the graph a second time"), c10::Error);
}

TEST_CASE("layers without weights or running statistics, and frozen inputs") {
  Layer layer({4, 8, 6, 6}, at::kFloat);
  const Layer reference = layer.in_double();
  const Tensor bare = at::batch_norm(layer.input, {}, {}, {}, {}, true, kMomentum, kEpsilon, false);
  CHECK(is_ours(bare));
  bare.square().sum().backward();
  const Tensor expected =
      std::get<0>(at::native_batch_norm(reference.input, {}, {}, {}, {}, true, kMomentum, kEpsilon));
  CHECK(difference(bare, expected) < 1e-6);
  layer.input = layer.input.detach();
  const Tensor output = rectify(layer.forward());
  output.sum().backward();
  CHECK_FALSE(layer.input.grad().defined());
  CHECK(layer.bias.grad().equal((output > 0).to(at::kFloat).sum({0, 2, 3})));
  const torch::NoGradGuard no_grad;
  CHECK(layer.forward().requires_grad() == false);
}

TEST_CASE("other tensors use LibTorch's kernels") {
  const Layer contiguous({4, 8, 6, 6}, at::kFloat, at::MemoryFormat::Contiguous);
  CHECK_FALSE(is_ours(contiguous.forward()));
  Layer evaluated({4, 8, 6, 6}, at::kFloat);
  const Tensor output =
      at::batch_norm(evaluated.input, evaluated.weight, evaluated.bias, evaluated.running_mean,
                     evaluated.running_variance, /*training=*/false, kMomentum, kEpsilon, /*cudnn_enabled=*/false);
  CHECK_FALSE(is_ours(output));
  CHECK_FALSE(is_ours(Layer({4, 8, 6, 6}, at::kDouble).in_double().forward()));
}

TEST_CASE("vectors of another size than the channels are refused, as by LibTorch") {
  for (Tensor Layer::*const vector : {&Layer::weight, &Layer::bias, &Layer::running_mean, &Layer::running_variance}) {
    for (const int64_t size : {3, 5}) {
      Layer layer({2, 4, 3, 3}, at::kFloat);
      layer.*vector = torch::rand({size});
      const std::string message = "contain 4 elements not " + std::to_string(size);
      CHECK_THROWS_WITH(layer.forward(), doctest::Contains(message.c_str()));
    }
  }
}
