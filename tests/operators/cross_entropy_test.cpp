// Compares the host's cross entropy with its definition in double precision, and with LibTorch's for what the
// definition does not say: errors, numbers that are not finite, and second derivatives.
#include "framework/operators/replaced_operators.h"

#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "framework/operators/batch_norm.h"
#include "framework/operators/softmax_kernels.h"
#include "tests/doctest_with_torch.h"

namespace cross_entropy_test {

namespace {

using at::Tensor;
using tenon::operators::cross_entropy_loss;

constexpr int64_t kIgnored = -100;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  int64_t rows, classes;
  int64_t reduction = at::Reduction::Mean;
  double label_smoothing = 0;
  double deviation = 1;  // of the logits
  bool ignores_some = false;
};

const std::vector<Case> kCases = {
    {1, 1},
    {5, 2},
    {32, 10},
    {7, 16},
    {33, 17, at::Reduction::Sum},
    {32, 10, at::Reduction::Mean, 0.1},
    {9, 1000, at::Reduction::Sum, 0.3, 5},
    {40, 513, at::Reduction::Mean, 0.1, 1, true},
    {64, 3, at::Reduction::Mean, 0, 30, true},
    {12, 5, at::Reduction::Sum, 0.2, 100, true},
    {300, 3001, at::Reduction::Mean, 0, 2, true},
    {10, 40'000, at::Reduction::Mean, 1},
};

struct Inputs {
  Tensor logits, target;
};

Inputs make_inputs(const Case& one) {
  torch::manual_seed(1);
  Inputs made{torch::randn({one.rows, one.classes}) * one.deviation, torch::randint(one.classes, {one.rows})};
  if (one.ignores_some) made.target.masked_fill_(torch::rand(one.rows) < 0.3, kIgnored);
  return made;
}

std::string describe(const Case& one) {
  return std::to_string(one.rows) + " x " + std::to_string(one.classes) + ", label smoothing " +
         std::to_string(one.label_smoothing) + ", reduction " + std::to_string(one.reduction);
}

struct Result {
  Tensor loss, gradient;
};

// With the factor of a loss scale.
template <typename Loss>
Result differentiate(const Tensor& logits, const Loss& loss, double factor = 1) {
  const Tensor leaf = logits.detach().clone().requires_grad_();
  Result result{loss(leaf), {}};
  (result.loss * factor).backward();
  result.gradient = leaf.grad();
  result.loss = result.loss.detach();
  return result;
}

// LibTorch's operator, which the host's replaces when it is called by name.
Result differentiate(const Case& one, const Inputs& in, double factor = 1) {
  // Ensures that the replaced operators are linked.
  REQUIRE((tenon::operators::batch_norm_hooks().normalise == nullptr));
  return differentiate(
      in.logits,
      [&](const Tensor& logits) {
        const Tensor loss = at::cross_entropy_loss(logits, in.target, {}, one.reduction, kIgnored, one.label_smoothing);
        REQUIRE(loss.grad_fn()->name() == "CrossEntropyBackward");
        return loss;
      },
      factor);
}

// The definition in double precision, and bounds of the errors of float.
struct Reference {
  double loss = 0, loss_bound = 0;
  Tensor gradient, gradient_bound;
};

// With u = 2^-24: a difference d = x - max has the error u |d|, and its exp in addition the relative error 4 u: those
// of r and of the last operations of the series. Sums in float have at most 32 terms per lane and 16 lanes, hence 36 u.
Reference define(const Case& one, const Inputs& in) {
  constexpr double u = 0x1p-24;
  const Tensor x = in.logits.to(at::kDouble);
  const Tensor used = in.target.ne(kIgnored).to(at::kDouble);
  const Tensor places = in.target.clamp_min(0).unsqueeze(1);
  const double divisor = one.reduction == at::Reduction::Mean ? used.sum().item<double>() : 1;
  const double share = one.label_smoothing / static_cast<double>(one.classes);
  const Tensor expected =
      torch::full_like(x, share).scatter_add(1, places, torch::full_like(places, 1 - one.label_smoothing, x.options()));
  const Tensor log_softmax = x.log_softmax(1), softmax = log_softmax.exp();
  const Tensor losses = -(expected * log_softmax).sum(1) * used;
  const Tensor distances = x.amax(1, /*keepdim=*/true) - x;
  const Tensor of_sums = u * (40 + (softmax * distances).sum(1, /*keepdim=*/true));  // relative
  const Tensor of_losses = of_sums.squeeze(1) + one.label_smoothing * 37 * u * distances.mean(1);
  Reference reference;
  reference.loss = losses.sum().item<double>() / divisor;
  reference.loss_bound = (of_losses * used).sum().item<double>() / divisor + u * std::abs(reference.loss);
  const Tensor factor = used.unsqueeze(1) / divisor;
  reference.gradient = factor * (softmax - expected);
  // Four more operations on the probabilities. The smallest ones, less than exp(-87) of the largest, are 0 in float.
  reference.gradient_bound =
      factor * (softmax * (u * (distances + 4) + of_sums) + 4 * u * (softmax + expected) + 0x1p-125);
  return reference;
}

void check_within(const Tensor& found, const Tensor& expected, const Tensor& bound) {
  CHECK(((found.to(at::kDouble) - expected).abs() <= bound).all().item<bool>());
}

}  // namespace

TEST_CASE("cross entropy and its gradient are those of the definition up to rounding") {
  for (const Case& one : kCases) {
    CAPTURE(describe(one));
    const Inputs in = make_inputs(one);
    const Reference reference = define(one, in);
    const Result found = differentiate(one, in);
    CHECK(std::abs(found.loss.item<double>() - reference.loss) <= reference.loss_bound);
    check_within(found.gradient, reference.gradient, reference.gradient_bound);
    const Result scaled = differentiate(one, in, 1024);
    check_within(scaled.gradient, reference.gradient * 1024, reference.gradient_bound * 1024);
  }
}

TEST_CASE("cross entropy has the same bits with any number of threads") {
  const int threads = at::get_num_threads();
  for (const Case& one : kCases) {
    CAPTURE(describe(one));
    const Inputs in = make_inputs(one);
    at::set_num_threads(1);
    const Result alone = differentiate(one, in);
    at::set_num_threads(3);
    const Result shared = differentiate(one, in);
    CHECK(torch::equal(alone.loss, shared.loss));
    CHECK(torch::equal(alone.gradient, shared.gradient));
  }
  at::set_num_threads(threads);
}

TEST_CASE("the kernels of cross entropy compute the same bits with each instruction set") {
  using tenon::operators::LogitSums;
  for (const int64_t classes : {1, 3, 15, 16, 17, 100, 511, 512, 513, 3001}) {
    CAPTURE(classes);
    torch::manual_seed(1);
    const Tensor logits = torch::randn(classes) * 10;
    const auto* const x = logits.const_data_ptr<float>();
    const auto compute = [&](const tenon::operators::SoftmaxKernels& kernels) {
      const LogitSums sums = kernels.add_up(x, classes);
      Tensor gradient = torch::full(classes + 1, -2.0F);
      const auto scale = static_cast<float>(1 / sums.exponentials);
      kernels.propagate(x, classes, {sums.max, scale, 0.7F, 1e-3F}, gradient.mutable_data_ptr<float>());
      CHECK(gradient[classes].item<float>() == -2);  // nothing is written after the last class
      return std::tuple(sums.max, sums.exponentials, sums.differences, gradient);
    };
    const auto [max, exponentials, differences, gradient] = compute(tenon::operators::softmax_kernels());
    for (const tenon::operators::SoftmaxKernels* kernels : tenon::operators::all_softmax_kernels()) {
      const auto [other_max, other_exponentials, other_differences, other_gradient] = compute(*kernels);
      CHECK(max == other_max);
      CHECK(exponentials == other_exponentials);
      CHECK(differences == other_differences);
      CHECK(torch::equal(gradient, other_gradient));
    }
  }
}

TEST_CASE("cross entropy treats numbers that are not finite as LibTorch does") {
  const auto compare = [](const Tensor& logits, const Tensor& target, double label_smoothing) {
    const auto differentiate_with = [&](const auto& function) {
      return differentiate(logits, [&](const Tensor& x) {
        return function(x, target, std::nullopt, at::Reduction::Sum, c10::SymInt(kIgnored), label_smoothing);
      });
    };
    const Result found = differentiate_with(cross_entropy_loss);
    // Logits in double are computed by LibTorch.
    const Result expected = differentiate(logits.to(at::kDouble), [&](const Tensor& x) {
      return at::cross_entropy_loss(x, target, {}, at::Reduction::Sum, kIgnored, label_smoothing);
    });
    CAPTURE(logits[0][0].item<float>());
    CAPTURE(logits[0][-1].item<float>());
    CAPTURE(logits.size(1));
    CAPTURE(label_smoothing);
    CHECK(torch::allclose(found.loss.to(at::kDouble), expected.loss, 1e-5, 1e-5, /*equal_nan=*/true));
    CHECK(torch::allclose(found.gradient.to(at::kDouble), expected.gradient, 1e-5, 1e-5, /*equal_nan=*/true));
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float special : {nan, kInfinity, -kInfinity, 1e30F, -1e30F})
    for (const int64_t classes : {1, 4, 11, 1000})
      for (const int64_t place : {int64_t{0}, classes - 1})
        for (const double label_smoothing : {0.0, 0.1}) {
          Tensor logits = torch::arange(2 * classes, at::kFloat).view({2, classes}) / 100;
          logits[0][place] = special;
          compare(logits, torch::tensor({int64_t{0}, classes - 1}), label_smoothing);
        }
  compare(torch::full({2, 20}, -kInfinity), torch::tensor({0, 1}), 0);
  compare(torch::full({2, 20}, nan), torch::tensor({int64_t{0}, kIgnored}), 0);
}

TEST_CASE("a mean over targets that are all ignored is NaN with a gradient of zeros") {
  const Tensor logits = torch::randn({3, 4}).requires_grad_(), zeros = torch::zeros({3, 4});
  const Tensor loss = at::cross_entropy_loss(logits, torch::full({3}, kIgnored));
  CHECK(loss.isnan().item<bool>());
  for (const bool create_graph : {true, false})
    CHECK(torch::equal(torch::autograd::grad({loss}, {logits}, {}, /*retain_graph=*/true, create_graph)[0], zeros));
}

TEST_CASE("any number may be ignored") {
  const Tensor logits = torch::randn({5, 4});
  for (const int64_t ignored : {2, 255, -1}) {
    CAPTURE(ignored);
    const Tensor target = torch::tensor({int64_t{0}, ignored, int64_t{3}, int64_t{1}, ignored});
    const Tensor kept = torch::tensor({0, 2, 3});
    const auto loss = [](const Tensor& x, const Tensor& targets, int64_t ignore_index) {
      return at::cross_entropy_loss(x, targets, {}, at::Reduction::Mean, ignore_index);
    };
    const Result found = differentiate(logits, [&](const Tensor& x) { return loss(x, target, ignored); });
    const Result expected =
        differentiate(logits, [&](const Tensor& x) { return loss(x.index({kept}), target.index({kept}), kIgnored); });
    CHECK(torch::equal(found.loss, expected.loss));
    CHECK(torch::equal(found.gradient, expected.gradient));
  }
}

TEST_CASE("LibTorch refuses targets that are not classes") {
  for (const int64_t target : {-1, 4}) {
    const std::string expected = "Target " + std::to_string(target) + " is out of bounds";
    CHECK_THROWS_WITH_AS(
        at::cross_entropy_loss(torch::randn({2, 4}).requires_grad_(), torch::tensor({int64_t{0}, target})),
        doctest::Contains(expected.c_str()), c10::Error);
  }
  CHECK_THROWS_AS(at::cross_entropy_loss(torch::randn({2, 4}), torch::tensor({0, 1, 2})), c10::Error);
}

TEST_CASE("cross entropy can be differentiated twice and its graph be kept") {
  for (const Case& one :
       {Case{6, 5}, Case{6, 5, at::Reduction::Sum, 0.2}, Case{20, 7, at::Reduction::Mean, 0.1, 1, true}}) {
    CAPTURE(describe(one));
    const Inputs in = make_inputs(one);
    const Tensor direction = torch::randn({one.rows, one.classes}, at::kDouble);
    const auto differentiate_twice = [&](at::ScalarType type) {
      const Tensor leaf = in.logits.to(type).detach().clone().requires_grad_();
      const Tensor loss = at::cross_entropy_loss(leaf, in.target, {}, one.reduction, kIgnored, one.label_smoothing);
      const Tensor first =
          torch::autograd::grad({loss * loss}, {leaf}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
      const Tensor again = torch::autograd::grad({loss * loss}, {leaf}, {}, /*retain_graph=*/true)[0];
      CHECK(torch::allclose(first, again));
      return torch::autograd::grad({(first * direction.to(type)).sum()}, {leaf})[0].to(at::kDouble);
    };
    CHECK(torch::allclose(differentiate_twice(at::kFloat), differentiate_twice(at::kDouble), 1e-4, 1e-5));
  }
}

TEST_CASE("a graph that was not kept cannot be differentiated again") {
  const Tensor leaf = torch::randn({4, 3}).requires_grad_();
  const Tensor loss = at::cross_entropy_loss(leaf, torch::tensor({0, 1, 2, 0}));
  loss.backward();
  CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("second time"), c10::Error);
}

TEST_CASE("logits and targets that were changed after the loss are refused in the backward") {
  for (const bool changes_target : {false, true}) {
    const Tensor logits = torch::randn({4, 3}).requires_grad_() * 1, target = torch::tensor({0, 1, 2, 0});
    const Tensor loss = at::cross_entropy_loss(logits, target);
    (changes_target ? target : logits).mul_(0);
    CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("modified by an inplace operation"), c10::Error);
  }
}

TEST_CASE("without gradients the loss has no history") {
  const Tensor logits = torch::randn({4, 3}).requires_grad_(), target = torch::tensor({0, 1, 2, 0});
  const at::NoGradGuard no_grad;
  CHECK_FALSE(at::cross_entropy_loss(logits, target).requires_grad());
}

TEST_CASE("other arguments are left to LibTorch") {
  const Tensor logits = torch::randn({6, 4}).requires_grad_(), target = torch::randint(4, {6});
  const auto is_hosts = [](const Tensor& loss) { return loss.grad_fn()->name() == "CrossEntropyBackward"; };
  CHECK(is_hosts(at::cross_entropy_loss(logits, target)));
  CHECK_FALSE(is_hosts(at::cross_entropy_loss(logits, target, torch::ones(4))));
  CHECK_FALSE(is_hosts(at::cross_entropy_loss(logits, target, {}, at::Reduction::None)));
  CHECK_FALSE(is_hosts(at::cross_entropy_loss(logits.to(at::kDouble), target)));
  CHECK_FALSE(is_hosts(at::cross_entropy_loss(logits.t().contiguous().t(), target)));
  CHECK_FALSE(is_hosts(at::cross_entropy_loss(at::_neg_view(logits), target)));
  CHECK_FALSE(is_hosts(at::cross_entropy_loss(logits, torch::rand({6, 4}))));
  CHECK_FALSE(is_hosts(at::cross_entropy_loss(logits.view({1, 4, 6}), torch::randint(4, {1, 6}))));
}

}  // namespace cross_entropy_test
