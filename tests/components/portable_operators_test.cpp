// Calls every operator of portable plugins through the host table. Values and gradients equal LibTorch's, in double
// precision and under autocast. The arguments are chosen so that swapping two of them changes the result.
#include <ATen/autocast_mode.h>

#include <functional>

#include <tenon/plugin.hpp>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/components/tensors/tensor_handles.h"
#include "tests/doctest_with_torch.h"

namespace portable_operators_test {

using tenon::components::to_handle;
using tenon::components::to_tensor;

namespace {

using Tensors = std::vector<at::Tensor>;

struct Case {
  std::string name;
  Tensors inputs;
  std::function<tenon::Tensor(const std::vector<tenon::Tensor>&)> ours;
  std::function<at::Tensor(const Tensors&)> theirs;
  bool training = true;
};

at::Tensor random(const std::vector<int64_t>& shape) { return torch::randn(shape, torch::kDouble); }
at::Tensor positive(const std::vector<int64_t>& shape) { return torch::rand(shape, torch::kDouble) + 0.1; }
at::Tensor classes(const std::vector<int64_t>& shape, int64_t count) { return torch::randint(count, shape); }

#define CASE(name, inputs, ours, theirs)                                    \
  {                                                                         \
    name, inputs, [](const std::vector<tenon::Tensor>& t) { return ours; }, \
        [](const Tensors& t) { return at::Tensor(theirs); }                 \
  }
#define INPUTS(...) \
  Tensors { __VA_ARGS__ }

std::vector<Case> arithmetic() {
  const at::Tensor a = random({3, 4}), b = positive({3, 4}), c = random({2, 4, 5});
  return {
      CASE("add", INPUTS(a, b), t[0] + t[1], t[0] + t[1]),
      CASE("sub", INPUTS(a, b), t[0] - t[1], t[0] - t[1]),
      CASE("mul", INPUTS(a, b), t[0] * t[1], t[0] * t[1]),
      CASE("div", INPUTS(a, b), t[0] / t[1], t[0] / t[1]),
      CASE("scalars", INPUTS(a), 3.0 - (t[0] + 1.5) * 2 / 7.0 - 1, 3.0 - (t[0] + 1.5) * 2 / 7.0 - 1),
      CASE("scalars on the left", INPUTS(a), 2.5 * (1 + t[0]), 2.5 * (1 + t[0])),
      CASE("neg", INPUTS(a), -t[0], -t[0]),
      CASE("abs", INPUTS(a), abs(t[0]), abs(t[0])),
      CASE("exp", INPUTS(a), exp(t[0]), exp(t[0])),
      CASE("log", INPUTS(b), log(t[0]), log(t[0])),
      CASE("sqrt", INPUTS(b), sqrt(t[0]), sqrt(t[0])),
      CASE("rsqrt", INPUTS(b), rsqrt(t[0]), rsqrt(t[0])),
      CASE("sin", INPUTS(a), sin(t[0]), sin(t[0])),
      CASE("cos", INPUTS(a), cos(t[0]), cos(t[0])),
      CASE("floor", INPUTS(a), floor(t[0]), floor(t[0])),
      CASE("reciprocal", INPUTS(b), reciprocal(t[0]), reciprocal(t[0])),
      CASE("a number divided by a tensor", INPUTS(b), 3 / t[0] + 0.5 / t[0],
           t[0].reciprocal() * 3 + t[0].reciprocal() * 0.5),  // as torch.Tensor.__rtruediv__
      CASE("pow", INPUTS(b), tenon::pow(t[0], 1.7), t[0].pow(1.7)),
      CASE("clamp", INPUTS(a), clamp(t[0], -0.5, 0.25), clamp(t[0], -0.5, 0.25)),
      CASE("clamp without an upper bound", INPUTS(a), clamp(t[0], -0.5, {}), clamp(t[0], -0.5)),
      CASE("clamp_min", INPUTS(a), clamp_min(t[0], 0.1), clamp_min(t[0], 0.1)),
      CASE("clamp_max", INPUTS(a), clamp_max(t[0], 0.1), clamp_max(t[0], 0.1)),
      CASE("maximum", INPUTS(a, b), maximum(t[0], t[1]), maximum(t[0], t[1])),
      CASE("minimum", INPUTS(a, b), minimum(t[0], t[1]), minimum(t[0], t[1])),
      CASE("sum", INPUTS(a), sum(t[0]), t[0].sum()),
      CASE("sum over dimensions", INPUTS(c), tenon::sum(t[0], {0, 2}, true), t[0].sum(c10::IntArrayRef({0, 2}), true)),
      CASE("mean", INPUTS(a), mean(t[0]), t[0].mean()),
      CASE("mean over dimensions", INPUTS(c), tenon::mean(t[0], {1}), t[0].mean(1)),
      CASE("amax", INPUTS(c), tenon::amax(t[0], {0, 1}), t[0].amax({0, 1})),
      CASE("amin", INPUTS(c), tenon::amin(t[0], {2}, true), t[0].amin(2, true)),
      CASE("cumsum", INPUTS(c), cumsum(t[0], 1), cumsum(t[0], 1)),
      CASE("matmul", INPUTS(a, c), matmul(t[0], t[1]), matmul(t[0], t[1])),
  };
}

std::vector<Case> comparison() {
  const at::Tensor a = random({3, 4}), b = random({3, 4}), mask = random({3, 4}) > 0;
  const at::Tensor counts = classes({3, 4}, 3);
  return {
      CASE("eq", INPUTS(counts, counts.flip(0)), eq(t[0], t[1]), eq(t[0], t[1])),
      CASE("ne", INPUTS(counts, counts.flip(0)), ne(t[0], t[1]), ne(t[0], t[1])),
      CASE("gt", INPUTS(a, b), gt(t[0], t[1]), gt(t[0], t[1])),
      CASE("ge", INPUTS(counts, counts.flip(0)), ge(t[0], t[1]), ge(t[0], t[1])),
      CASE("lt", INPUTS(a, b), lt(t[0], t[1]), lt(t[0], t[1])),
      CASE("le", INPUTS(counts, counts.flip(0)), le(t[0], t[1]), le(t[0], t[1])),
      CASE("eq with a number", INPUTS(counts), eq(t[0], 1), eq(t[0], 1)),
      CASE("ne with a number", INPUTS(counts), ne(t[0], 1), ne(t[0], 1)),
      CASE("gt with a number", INPUTS(counts), gt(t[0], 1), gt(t[0], 1)),
      CASE("ge with a number", INPUTS(counts), ge(t[0], 1), ge(t[0], 1)),
      CASE("lt with a number", INPUTS(counts), lt(t[0], 1), lt(t[0], 1)),
      CASE("le with a number", INPUTS(counts), le(t[0], 1), le(t[0], 1)),
      CASE("logical_and", INPUTS(mask, mask.flip(0)), logical_and(t[0], t[1]), logical_and(t[0], t[1])),
      CASE("logical_or", INPUTS(mask, mask.flip(0)), logical_or(t[0], t[1]), logical_or(t[0], t[1])),
      CASE("logical_not", INPUTS(mask), logical_not(t[0]), logical_not(t[0])),
      CASE("where", INPUTS(mask, a, b), where(t[0], t[1], t[2]), where(t[0], t[1], t[2])),
      CASE("argmax", INPUTS(a), argmax(t[0], 1), argmax(t[0], 1)),
      CASE("topk's values", INPUTS(a), topk(t[0], 2, 0).values, std::get<0>(topk(t[0], 2, 0))),
      CASE("topk's indices", INPUTS(a), topk(t[0], 2, 0).indices, std::get<1>(topk(t[0], 2, 0))),
      CASE("sort's values", INPUTS(a), tenon::sort(t[0], 0, true).values, std::get<0>(t[0].sort(0, true))),
      CASE("sort's indices", INPUTS(a), tenon::sort(t[0]).indices, std::get<1>(t[0].sort())),
  };
}

std::vector<Case> shape() {
  const at::Tensor a = random({2, 6, 5}), b = random({2, 6, 5}), indices = torch::tensor({4, 0, 2});
  return {
      CASE("reshape", INPUTS(a), tenon::reshape(t[0], {3, -1}), t[0].reshape({3, -1})),
      CASE("flatten", INPUTS(a), flatten(t[0], 0, 1), t[0].flatten(0, 1)),
      CASE("transpose", INPUTS(a), transpose(t[0], 0, 2), t[0].transpose(0, 2)),
      CASE("permute", INPUTS(a), tenon::permute(t[0], {1, 2, 0}), t[0].permute({1, 2, 0})),
      CASE("squeeze", INPUTS(a.unsqueeze(1)), squeeze(t[0], 1), t[0].squeeze(1)),
      CASE("unsqueeze", INPUTS(a), unsqueeze(t[0], -1), t[0].unsqueeze(-1)),
      CASE("expand", INPUTS(a.unsqueeze(0)), tenon::expand(t[0], {3, 2, 6, 5}), t[0].expand({3, 2, 6, 5})),
      CASE("cat", INPUTS(a, b), tenon::cat({t[0], t[1]}, 1), torch::cat({t[0], t[1]}, 1)),
      CASE("stack", INPUTS(a, b), tenon::stack({t[0], t[1]}, 2), torch::stack({t[0], t[1]}, 2)),
      CASE("chunk", INPUTS(a), chunk(t[0], 3, 1).at(1), t[0].chunk(3, 1).at(1)),
      CASE("select", INPUTS(a), select(t[0], 1, 4), t[0].select(1, 4)),
      CASE("slice", INPUTS(a), slice(t[0], 1, 1, 5, 2), t[0].slice(1, 1, 5, 2)),
      CASE("slice to the end", INPUTS(a), slice(t[0], 2, 3), t[0].slice(2, 3)),
      CASE("index_select", INPUTS(a, indices), index_select(t[0], 1, t[1]), index_select(t[0], 1, t[1])),
      CASE("gather", INPUTS(a, classes({2, 3, 5}, 6)), gather(t[0], 1, t[1]), gather(t[0], 1, t[1])),
      CASE("scatter", INPUTS(a, indices.view({1, 3, 1}).expand({2, 3, 5}), b.slice(1, 0, 3)),
           scatter(t[0], 1, t[1], t[2]), scatter(t[0], 1, t[1], t[2])),
      CASE("scatter_add", INPUTS(a, classes({2, 3, 5}, 6), b.slice(1, 0, 3)), scatter_add(t[0], 1, t[1], t[2]),
           scatter_add(t[0], 1, t[1], t[2])),
      CASE("pad", INPUTS(a), tenon::pad(t[0], {1, 2, -1, 3}, 0.5), torch::constant_pad_nd(t[0], {1, 2, -1, 3}, 0.5)),
      CASE("arange", INPUTS(a), tenon::arange(t[0], 7), torch::arange(7, t[0].options().dtype(torch::kLong))),
      CASE("arange of a dtype", INPUTS(a), tenon::arange(t[0], 300, TENON_FLOAT32),
           torch::arange(300, t[0].options().dtype(torch::kFloat))),
      CASE("masked_fill", INPUTS(a, b > 0), masked_fill(t[0], t[1], 7.5), masked_fill(t[0], t[1], 7.5)),
      CASE("one_hot", INPUTS(indices), one_hot(t[0], 6), one_hot(t[0], 6)),
      CASE("contiguous", INPUTS(a.transpose(0, 1)), contiguous(t[0]), t[0].contiguous()),
      CASE("to_dtype", INPUTS(a), to_dtype(t[0], TENON_FLOAT32), t[0].to(torch::kFloat)),
      CASE("detach", INPUTS(a, b), detach(t[0]) * t[1], t[0].detach() * t[1]),
      CASE("zeros_like", INPUTS(a), zeros_like(t[0]), zeros_like(t[0])),
      CASE("ones_like", INPUTS(a), ones_like(t[0]), ones_like(t[0])),
      CASE("rand_like", INPUTS(a), rand_like(t[0]), rand_like(t[0])),
  };
}

std::vector<Case> network() {
  const at::Tensor image = random({2, 4, 9, 8}), weight = random({6, 2, 3, 3}), bias = random({6});
  const at::Tensor per_channel = positive({4}), rows = random({5, 4}), last = random({8});
  const at::Tensor query = random({2, 3, 5, 4}), key = random({2, 3, 6, 4}), value = random({2, 3, 6, 7});
  const at::Tensor mask = random({5, 6}) > -1;
  return {
      CASE("linear", INPUTS(rows, random({3, 4}), random({3})), linear(t[0], t[1], t[2]),
           torch::linear(t[0], t[1], t[2])),
      CASE("linear without bias", INPUTS(rows, random({3, 4})), linear(t[0], t[1]), torch::linear(t[0], t[1])),
      CASE("conv1d", INPUTS(random({2, 4, 9}), random({6, 2, 3}), bias), conv1d(t[0], t[1], t[2], 2, 1, 3, 2),
           torch::conv1d(t[0], t[1], t[2], 2, 1, 3, 2)),
      CASE("conv2d", INPUTS(image, weight, bias), conv2d(t[0], t[1], t[2], 2, 1, 3, 2),
           torch::conv2d(t[0], t[1], t[2], 2, 1, 3, 2)),
      CASE("conv_transpose2d", INPUTS(image, random({4, 3, 3, 3}), bias),
           conv_transpose2d(t[0], t[1], t[2], 3, 1, 2, 2), torch::conv_transpose2d(t[0], t[1], t[2], 3, 1, 2, 2)),
      CASE("max_pool2d", INPUTS(image), max_pool2d(t[0], 3, 2, 1), torch::max_pool2d(t[0], 3, 2, 1)),
      CASE("max_pool2d by its kernel", INPUTS(image), max_pool2d(t[0], 2), torch::max_pool2d(t[0], 2)),
      CASE("avg_pool2d", INPUTS(image), avg_pool2d(t[0], 3, 2, 1), torch::avg_pool2d(t[0], 3, 2, 1)),
      CASE("adaptive_avg_pool2d", INPUTS(image), adaptive_avg_pool2d(t[0], 3, 2),
           torch::adaptive_avg_pool2d(t[0], {3, 2})),
      CASE("upsample_nearest2d", INPUTS(image), upsample_nearest2d(t[0], 18, 12),
           torch::upsample_nearest2d(t[0], {18, 12})),
      CASE("upsample_bilinear2d", INPUTS(image), upsample_bilinear2d(t[0], 18, 12, true),
           torch::upsample_bilinear2d(t[0], {18, 12}, true)),
      CASE("embedding", INPUTS(random({7, 3}), classes({2, 5}, 7)), embedding(t[0], t[1]), embedding(t[0], t[1])),
      CASE("dropout", INPUTS(image), dropout(t[0], 0.3), torch::dropout(t[0], 0.3, true)),
      CASE("batch_norm",
           INPUTS(image, per_channel, random({4}), torch::zeros({4}, torch::kDouble), per_channel.clone()),
           batch_norm(t[0], t[1], t[2], detach(t[3]), detach(t[4]), 0.2, 1e-3),
           torch::batch_norm(t[0], t[1], t[2], t[3].detach().clone(), t[4].detach().clone(), true, 0.2, 1e-3, true)),
      CASE("layer_norm", INPUTS(image, last, random({8})), tenon::layer_norm(t[0], {8}, t[1], t[2], 1e-3),
           torch::layer_norm(t[0], {8}, t[1], t[2], 1e-3)),
      CASE("group_norm", INPUTS(image, per_channel, random({4})), group_norm(t[0], 2, t[1], t[2], 1e-3),
           torch::group_norm(t[0], 2, t[1], t[2], 1e-3)),
      CASE("rms_norm", INPUTS(image, last), tenon::rms_norm(t[0], {8}, t[1], 1e-3),
           torch::rms_norm(t[0], {8}, t[1], 1e-3)),
      CASE("relu", INPUTS(rows), relu(t[0]), relu(t[0])),
      CASE("leaky_relu", INPUTS(rows), leaky_relu(t[0], 0.2), torch::leaky_relu(t[0], 0.2)),
      CASE("elu", INPUTS(rows), elu(t[0], 0.7), torch::elu(t[0], 0.7)),
      CASE("gelu", INPUTS(rows), gelu(t[0]), torch::gelu(t[0])),
      CASE("silu", INPUTS(rows), silu(t[0]), torch::silu(t[0])),
      CASE("hardswish", INPUTS(rows), hardswish(t[0]), torch::hardswish(t[0])),
      CASE("softplus", INPUTS(rows), softplus(t[0]), torch::softplus(t[0])),
      CASE("sigmoid", INPUTS(rows), sigmoid(t[0]), sigmoid(t[0])),
      CASE("tanh", INPUTS(rows), tanh(t[0]), tanh(t[0])),
      CASE("softmax", INPUTS(image), softmax(t[0], 1), torch::softmax(t[0], 1)),
      CASE("log_softmax", INPUTS(image), log_softmax(t[0], 1), torch::log_softmax(t[0], 1)),
      CASE("attention", INPUTS(query, key, value, mask), attention(t[0], t[1], t[2], t[3]),
           at::scaled_dot_product_attention(t[0], t[1], t[2], t[3])),
      CASE("causal attention", INPUTS(query, key, value), attention(t[0], t[1], t[2], {}, 0, true),
           at::scaled_dot_product_attention(t[0], t[1], t[2], {}, 0, true)),
  };
}

std::vector<Case> losses() {
  const at::Tensor logits = random({6, 4}), target = torch::tensor({0, 3, 1, 2, 2, 3}), weights = positive({4});
  const at::Tensor a = random({3, 4}), b = random({3, 4}), probability = torch::rand({3, 4}, torch::kDouble);
  return {
      CASE("cross_entropy_loss", INPUTS(logits, target, weights),
           cross_entropy_loss(t[0], t[1], TENON_REDUCTION_SUM, 2, 0.1, detach(t[2])),
           torch::cross_entropy_loss(t[0], t[1], t[2].detach(), at::Reduction::Sum, 2, 0.1)),
      CASE("nll_loss", INPUTS(logits, target, weights), nll_loss(t[0], t[1], TENON_REDUCTION_MEAN, 2, detach(t[2])),
           torch::nll_loss(t[0], t[1], t[2].detach(), at::Reduction::Mean, 2)),
      CASE("mse_loss", INPUTS(a, b), mse_loss(t[0], t[1]), torch::mse_loss(t[0], t[1])),
      CASE("l1_loss", INPUTS(a, b), l1_loss(t[0], t[1], TENON_REDUCTION_NONE),
           torch::l1_loss(t[0], t[1], at::Reduction::None)),
      CASE("smooth_l1_loss", INPUTS(a, b), smooth_l1_loss(t[0], t[1], TENON_REDUCTION_SUM, 0.4),
           torch::smooth_l1_loss(t[0], t[1], at::Reduction::Sum, 0.4)),
      CASE("huber_loss", INPUTS(a, b), huber_loss(t[0], t[1], TENON_REDUCTION_SUM, 0.4),
           torch::huber_loss(t[0], t[1], at::Reduction::Sum, 0.4)),
      CASE("bce_with_logits", INPUTS(a, probability, positive({3, 4}), weights),
           bce_with_logits(t[0], t[1], TENON_REDUCTION_SUM, detach(t[2]), detach(t[3])),
           torch::binary_cross_entropy_with_logits(t[0], t[1], t[2].detach(), t[3].detach(), at::Reduction::Sum)),
      CASE("kl_div", INPUTS(a, probability), kl_div(t[0], t[1], TENON_REDUCTION_SUM),
           torch::kl_div(t[0], t[1], at::Reduction::Sum)),
  };
}

std::vector<Case> all_cases() {
  torch::manual_seed(1);
  std::vector<Case> all;
  for (auto part : {arithmetic, comparison, shape, network, losses})
    for (Case& each : part()) all.push_back(std::move(each));
  return all;
}

struct Computed {
  at::Tensor result;
  Tensors gradients;
};

// Runs forward and, if the result requires grad, backward with fixed weights for its elements.
template <class Forward>
Computed compute(const Case& example, const Forward& forward) {
  Tensors inputs;
  for (const at::Tensor& input : example.inputs)
    inputs.push_back(input.detach().clone().set_requires_grad(input.is_floating_point()));
  torch::manual_seed(7);
  Computed computed{forward(inputs), {}};
  if (!computed.result.requires_grad()) return computed;
  const at::Tensor result = computed.result.to(torch::kDouble);
  const at::Tensor weights = torch::arange(1, result.numel() + 1, torch::kDouble).reshape(result.sizes());
  (result * weights).sum().backward();
  for (const at::Tensor& input : inputs) computed.gradients.push_back(input.grad());
  return computed;
}

at::Tensor run_ours(const Case& example, const Tensors& inputs) {
  tenon::components::install_libtorch();
  tenon::detail::host = &tenon::components::host_table();
  const std::vector<tenon_tensor*> no_tensors;
  tenon::components::Frame host_frame({.training = example.training}, no_tensors);
  const tenon::Frame frame(host_frame.get());
  std::vector<tenon::Tensor> tensors;
  for (const at::Tensor& input : inputs) tensors.emplace_back(to_handle(input), &frame);
  try {
    return to_tensor(example.ours(tensors).handle());
  } catch (const tenon::Error&) {
    FAIL(tenon::components::detail::failure);
    throw;
  }
}

void require_equal(const at::Tensor& ours, const at::Tensor& theirs) {
  REQUIRE(ours.defined() == theirs.defined());
  if (!ours.defined()) return;
  CHECK(ours.scalar_type() == theirs.scalar_type());
  REQUIRE(ours.sizes() == theirs.sizes());
  CHECK(torch::equal(ours, theirs));
}

}  // namespace

TEST_CASE("operators of portable plugins have LibTorch's values and gradients, bit for bit") {
  const std::vector<Case> cases = all_cases();
  size_t with_gradients = 0;
  for (const Case& example : cases) {
    CAPTURE(example.name);
    const Computed ours = compute(example, [&](const Tensors& inputs) { return run_ours(example, inputs); });
    const Computed theirs = compute(example, example.theirs);
    require_equal(ours.result, theirs.result);
    REQUIRE(ours.gradients.size() == theirs.gradients.size());
    for (size_t i = 0; i < ours.gradients.size(); ++i) require_equal(ours.gradients[i], theirs.gradients[i]);
    with_gradients += !ours.gradients.empty();
  }
  CHECK(with_gradients > 60);
}

TEST_CASE("under autocast they compute in the dtypes that LibTorch chooses") {
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  size_t in_bfloat16 = 0;
  for (Case& example : network()) {
    CAPTURE(example.name);
    for (at::Tensor& input : example.inputs)
      if (input.is_floating_point()) input = input.to(torch::kFloat);
    const Computed ours = compute(example, [&](const Tensors& inputs) { return run_ours(example, inputs); });
    const Computed theirs = compute(example, example.theirs);
    require_equal(ours.result, theirs.result);
    for (size_t i = 0; i < ours.gradients.size(); ++i) require_equal(ours.gradients[i], theirs.gradients[i]);
    in_bfloat16 += ours.result.scalar_type() == at::kBFloat16;
    at::autocast::clear_cache();
  }
  at::autocast::set_autocast_enabled(at::kCPU, false);
  CHECK(in_bfloat16 >= 5);
}

TEST_CASE("in evaluation mode, dropout does nothing and batch_norm uses its running statistics") {
  torch::manual_seed(1);
  for (Case& example : network()) {
    CAPTURE(example.name);
    example.training = false;
    const at::Tensor result = run_ours(example, example.inputs);
    if (example.name == "dropout") require_equal(result, example.inputs[0]);
    if (example.name == "batch_norm")
      require_equal(result, torch::batch_norm(example.inputs[0], example.inputs[1], example.inputs[2],
                                              example.inputs[3], example.inputs[4], false, 0.2, 1e-3, true));
  }
}

}  // namespace portable_operators_test
