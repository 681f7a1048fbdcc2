// Adam's averages of weights without gradients decay to denormal numbers, which are flushed now and then.
#include <ATen/ops/_fused_adamw.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "framework/optimization/optimizer.h"
#include "framework/optimization/update_rule.h"
#include "tests/doctest_with_torch.h"

namespace tenon::optimization::denormals_test {
namespace {

constexpr int kSteps = 7 * 128;  // 0.1 * 0.9^895 is denormal

bool has_denormals(const at::Tensor& tensor) {
  for (const float element :
       std::vector<float>(tensor.const_data_ptr<float>(), tensor.const_data_ptr<float>() + tensor.numel()))
    if (std::fpclassify(element) == FP_SUBNORMAL) return true;
  return false;
}

// In step 0 all weights have a gradient, later only every second one.
at::Tensor make_gradient(int step) {
  const at::Tensor numbers = at::arange(32, at::kFloat);
  const at::Tensor gradient = (numbers * 3 + step).sin();
  return step == 0 ? gradient : gradient * (numbers.remainder(2) == 0).to(at::kFloat);
}

struct Trained {
  at::Tensor weights;
  std::map<std::string, at::Tensor> state;
};

Trained train(const config::AdamPlan& adam, const at::Tensor& skip = {}) {
  config::OptimizerPlan plan;
  plan.rule = adam;
  plan.weight_decay = 0.01;
  plan.decay = config::OptimizerPlan::Decay::all;
  const auto optimizer =
      Optimizer::make(plan, {{"weight", at::linspace(-1, 1, 32, at::TensorOptions(at::kFloat)).requires_grad_()}});
  at::Tensor weights = optimizer->parameters()[0].tensor;
  for (int step = 0; step < kSteps; ++step) {
    weights.mutable_grad() = make_gradient(step);
    optimizer->step({.learning_rate = 1e-3}, skip);
  }
  Trained trained{weights.detach(), {}};
  for (const NamedTensor& entry : optimizer->state()) trained.state[entry.name] = entry.tensor;
  return trained;
}

}  // namespace

TEST_CASE("denormal numbers become zeros of the same sign") {
  const at::Tensor tensor = at::zeros({5000});
  float* const elements = tensor.mutable_data_ptr<float>();
  const float smallest = std::numeric_limits<float>::min();
  elements[0] = smallest;
  elements[1] = smallest / 2;
  elements[4500] = -std::numeric_limits<float>::denorm_min();
  elements[4999] = std::numeric_limits<float>::infinity();
  flush_denormals(tensor);
  CHECK(elements[0] == smallest);
  CHECK(elements[1] == 0);
  CHECK((elements[4500] == 0 && std::signbit(elements[4500])));
  CHECK(std::isinf(elements[4999]));
  const at::Tensor doubles = at::full({3}, 1e-310, at::kDouble);
  flush_denormals(doubles);
  CHECK(doubles.equal(at::full({3}, 1e-310, at::kDouble)));
}

TEST_CASE("the averages of weights without gradients become zero, and all weights keep their bits") {
  const Trained trained = train({});
  CHECK_FALSE(has_denormals(trained.state.at("weight.exp_avg")));
  CHECK(trained.state.at("weight.exp_avg")[1].item<float>() == 0);

  // The kernel alone.
  at::Tensor weights = at::linspace(-1, 1, 32, at::TensorOptions(at::kFloat));
  const at::Tensor mean = at::zeros_like(weights), squares = at::zeros_like(weights), count = at::zeros({});
  for (int step = 0; step < kSteps; ++step) {
    count.add_(1);
    at::_fused_adamw_({weights}, {make_gradient(step)}, {mean}, {squares}, {}, {count}, 1e-3, 0.9, 0.999, 0.01, 1e-8,
                      false, false);
  }
  CHECK(has_denormals(mean));
  CHECK(trained.weights.equal(weights));
  CHECK(trained.state.at("weight.exp_avg_sq").equal(squares));
}

TEST_CASE("squares are not flushed if eps is so small that they count") {
  const auto squares_of = [](double eps) {
    return train({.betas = {0.9, 0.9}, .eps = eps}).state.at("weight.exp_avg_sq");
  };
  CHECK_FALSE(has_denormals(squares_of(1e-8)));
  CHECK(has_denormals(squares_of(1e-20)));
}

TEST_CASE("a step that the device may skip flushes nothing") {
  CHECK(has_denormals(train({}, at::zeros({})).state.at("weight.exp_avg")));
}

}  // namespace tenon::optimization::denormals_test
