#include "framework/distributed/collectives/synchronized_batch_norm.h"

#include "framework/distributed/collectives/frozen_batch_norm.h"
#include "tests/doctest_with_torch.h"
#include "tests/ranks/run_ranks.h"

namespace synchronized_batch_norm_test {

using namespace tenon::distributed;

namespace {

struct Layer {
  at::Tensor weight = (at::arange(3, at::kFloat) * 0.5 + 1).requires_grad_();
  at::Tensor bias = (at::arange(3, at::kFloat) - 1).requires_grad_();
  at::Tensor running_mean = at::zeros({3});
  at::Tensor running_variance = at::ones({3});
  at::Tensor forward(const at::Tensor& input, bool training = true) const {
    return at::batch_norm(input, weight, bias, running_mean, running_variance, training, 0.1, 1e-5, false);
  }
};

// Returns a loss with a different gradient for each element.
at::Tensor loss_of(const at::Tensor& output, const at::Tensor& factors) { return (output.square() * factors).sum(); }

// Returns the difference relative to the largest element.
double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>() / b.abs().max().item<double>();
}

// Compares a rank's share of 7 samples with one process that has all of them. Returns "equal" within 1e-5, otherwise
// the difference.
std::string compare(ProcessGroup& group, int64_t used_ranks) {
  torch::manual_seed(3);
  const at::Tensor all = at::randn({7, 3, 2, 2}) * 2 + 5;
  const at::Tensor factors = at::rand({7, 3, 2, 2});
  Layer whole;
  const at::Tensor whole_input = all.clone().requires_grad_();
  const at::Tensor whole_output = whole.forward(whole_input);
  loss_of(whole_output, factors).backward();

  Layer shared;
  SynchronizedBatchNorm synchronized(group);
  const bool is_used = group.rank() < used_ranks;
  synchronized.set_borrowed(!is_used);
  const at::Tensor places = is_used ? at::arange(group.rank(), 7, used_ranks) : at::zeros({1}, at::kLong);
  const at::Tensor input = all.index_select(0, places).requires_grad_();
  const at::Tensor output = shared.forward(input);
  const at::Tensor loss = loss_of(output, factors.index_select(0, places));
  (is_used ? loss : loss * 0).backward();
  const at::Tensor of_weight = shared.weight.grad().clone(), of_bias = shared.bias.grad().clone();
  group.reduce(Reduction::sum, of_weight);
  group.reduce(Reduction::sum, of_bias);

  double largest = std::max({difference(of_weight, whole.weight.grad()), difference(of_bias, whole.bias.grad()),
                             difference(shared.running_mean, whole.running_mean),
                             difference(shared.running_variance, whole.running_variance)});
  if (!is_used && input.grad().abs().max().item<double>() > 0) return "a gradient for a borrowed sample";
  if (is_used)
    largest = std::max({largest, difference(output, whole_output.index_select(0, places)),
                        difference(input.grad(), whole_input.grad().index_select(0, places))});
  return largest < 1e-5 ? "equal" : std::to_string(largest);
}

}  // namespace

TEST_CASE("parts of a batch with unequal sizes are normalised like the whole batch") {
  for (const int64_t size : {2, 3}) {
    const auto texts = run_in_group(size, {}, [size](ProcessGroup& group) { return compare(group, size); });
    CHECK(texts == std::vector<std::string>(static_cast<size_t>(size), "equal"));
  }
}

TEST_CASE("a borrowed batch is ignored") {
  const auto texts = run_in_group(3, {}, [](ProcessGroup& group) { return compare(group, 2); });
  CHECK(texts == std::vector<std::string>(3, "equal"));
}

TEST_CASE("evaluation, and training without the class, use LibTorch's operator") {
  const auto texts = run_in_group(2, {}, [](ProcessGroup& group) {
    const at::Tensor input = at::arange(12, at::kFloat).reshape({2, 3, 2}) + static_cast<double>(group.rank());
    Layer plain, other;
    const at::Tensor expected = plain.forward(input, /*training=*/false);
    const at::Tensor expected_training = plain.forward(input);
    std::string text;
    {
      SynchronizedBatchNorm synchronized(group);
      text += at::equal(other.forward(input, /*training=*/false), expected) ? "same " : "other ";
      text += at::equal(Layer().forward(input), expected_training) ? "same " : "other ";
    }
    return text + (at::equal(Layer().forward(input), expected_training) ? "same" : "other");
  });
  CHECK(texts == std::vector<std::string>(2, "same other same"));
}

TEST_CASE("a frozen batch norm computes in training as in evaluation, and the others do not") {
  torch::manual_seed(5);
  const at::Tensor values = at::randn({7, 3, 2, 2}) * 2 + 5, factors = at::rand({7, 3, 2, 2});
  const auto compute = [&](const Layer& layer, bool training) {
    const at::Tensor input = values.clone().requires_grad_();
    const at::Tensor output = layer.forward(input, training);
    loss_of(output, factors).backward();
    return std::vector<at::Tensor>{output.detach(), input.grad(), layer.weight.grad(), layer.bias.grad()};
  };
  Layer frozen, evaluated, trained, expected;
  std::vector<at::Tensor> of_frozen, of_trained;
  {
    FrozenBatchNorm freezer;
    freezer.set({frozen.running_mean});
    of_frozen = compute(frozen, /*training=*/true);
    of_trained = compute(trained, /*training=*/true);
  }
  const auto of_evaluated = compute(evaluated, /*training=*/false);
  const auto of_expected = compute(expected, /*training=*/true);
  for (size_t i = 0; i < of_frozen.size(); ++i) {
    CHECK(torch::equal(of_frozen[i], of_evaluated[i]));
    CHECK(torch::equal(of_trained[i], of_expected[i]));
  }
  CHECK(torch::equal(frozen.running_mean, at::zeros({3})));
  CHECK(torch::equal(frozen.running_variance, at::ones({3})));
  CHECK(torch::equal(trained.running_mean, expected.running_mean));
  CHECK_FALSE(torch::equal(trained.running_mean, at::zeros({3})));
  compute(frozen, /*training=*/true);  // no longer frozen
  CHECK_FALSE(torch::equal(frozen.running_mean, at::zeros({3})));
}

}  // namespace synchronized_batch_norm_test
