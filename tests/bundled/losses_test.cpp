// Compares values and gradients of the bundled losses with torch.nn.functional.
#include <torch/nn/functional.h>

#include "framework/support/diagnostics/error.h"
#include "tests/bundled/opened_components.h"
#include "tests/doctest_with_torch.h"

namespace losses_test {

using namespace tenon::bundled;
namespace F = torch::nn::functional;

namespace {

constexpr int64_t kIgnored = 255;

// The loss and its gradient with respect to the first input.
struct Computed {
  double loss;
  double weight;
  at::Tensor gradient;
};

Computed compute(const tenon::components::Loss& loss, const at::Tensor& first, const at::Tensor& target) {
  const at::Tensor input = first.clone().requires_grad_(true);
  const auto result = loss.forward({.training = true}, {input, target});
  result.loss.backward();
  return {result.loss.item<double>(),
          result.weight_tensor.defined() ? result.weight_tensor.item<double>() : result.weight, input.grad()};
}

void check_same(const Computed& ours, const std::function<at::Tensor(const at::Tensor&)>& theirs,
                const at::Tensor& first) {
  const at::Tensor input = first.clone().requires_grad_(true);
  const at::Tensor loss = theirs(input);
  loss.backward();
  CHECK(ours.loss == doctest::Approx(loss.item<double>()).epsilon(1e-12));
  CHECK(torch::allclose(ours.gradient, input.grad(), 1e-12, 1e-12));
}

}  // namespace

TEST_CASE("cross_entropy of masks is the mean over the pixels that are not ignored") {
  const at::Tensor logits = numbers({2, 4, 3, 5}, 0, 8);
  at::Tensor target = classes({2, 3, 5}, 0, 0, 4);
  target.select(2, 1).fill_(kIgnored);
  const auto loss = open_loss("cross_entropy", {{"ignore_index", kIgnored}});
  const Computed ours = compute(loss, logits, target);
  CHECK(ours.weight == 2 * 3 * 4);
  const auto options = F::CrossEntropyFuncOptions().ignore_index(kIgnored);
  check_same(
      ours, [&](const at::Tensor& input) { return F::cross_entropy(input, target, options); }, logits);
}

TEST_CASE("cross_entropy of a mask with only ignored pixels is 0, with the weight 0") {
  const Computed ours = compute(open_loss("cross_entropy", {{"ignore_index", kIgnored}}), numbers({1, 3, 2, 2}, 0, 8),
                                torch::full({1, 2, 2}, kIgnored));
  CHECK(ours.loss == 0);
  CHECK(ours.weight == 0);
  CHECK(torch::equal(ours.gradient, torch::zeros_like(ours.gradient)));
}

TEST_CASE("cross_entropy with label smoothing refuses class weights of 0") {
  const tenon::config::Values params = {{"label_smoothing", 0.1}, {"class_weights", std::vector<double>{1, 0, 2}}};
  CHECK_THROWS_WITH_AS(open_loss("cross_entropy", params), doctest::Contains("class_weights has a 0"),
                       tenon::support::Error);
  CHECK_NOTHROW(open_loss("cross_entropy", {{"class_weights", std::vector<double>{1, 0, 2}}}));
}

TEST_CASE("bce_with_logits accepts classes 0 and 1") {
  const at::Tensor logits = numbers({6}, 0, 16);
  const at::Tensor target = classes({6}, 0, 0, 2);
  const Computed ours = compute(open_loss("bce_with_logits"), logits, target);
  CHECK(ours.weight == 6);
  const at::Tensor shares = target.to(torch::kDouble);
  check_same(
      ours, [&](const at::Tensor& input) { return F::binary_cross_entropy_with_logits(input, shares); }, logits);
}

TEST_CASE("bce_with_logits accepts probabilities, and weights positive targets") {
  const at::Tensor logits = numbers({4, 3}, 1, 16);
  const at::Tensor target = (numbers({4, 3}, 2, 128) + 0.5).clamp(0, 1);
  const Computed ours = compute(open_loss("bce_with_logits", {{"positive_weight", 2.5}}), logits, target);
  CHECK(ours.weight == 12);
  const auto options = F::BinaryCrossEntropyWithLogitsFuncOptions().pos_weight(torch::full({1}, 2.5, torch::kDouble));
  check_same(
      ours, [&](const at::Tensor& input) { return F::binary_cross_entropy_with_logits(input, target, options); },
      logits);
}

TEST_CASE("mse is the mean over all elements of a batch") {
  const at::Tensor prediction = numbers({5, 2}, 0, 8);
  const at::Tensor target = numbers({5, 2}, 1, 4);
  const Computed ours = compute(open_loss("mse"), prediction, target);
  CHECK(ours.weight == 10);
  check_same(
      ours, [&](const at::Tensor& input) { return F::mse_loss(input, target); }, prediction);
}

TEST_CASE("a loss can be captured unless it reads values or copies weights from host memory") {
  for (const char* id : {"bce_with_logits", "binary_dice", "binary_focal", "cross_entropy", "dice", "focal", "huber",
                         "kl_divergence", "l1", "mse", "sequence_cross_entropy", "smooth_l1", "soft_cross_entropy"}) {
    CAPTURE(id);
    CHECK(open_loss(id).is_capturable());
  }
  CHECK_FALSE(open_loss("ctc").is_capturable());
  const std::vector<double> weights{1, 2};
  for (const char* id : {"cross_entropy", "focal", "sequence_cross_entropy"}) {
    CAPTURE(id);
    CHECK_FALSE(open_loss(id, {{"class_weights", weights}}).is_capturable());
  }
  CHECK_FALSE(open_loss("bce_with_logits", {{"positive_weights", weights}}).is_capturable());
}

}  // namespace losses_test
