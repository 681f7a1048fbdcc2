// The number of kernels of the steps around forward and backward does not grow with the number of parameters.
#include <torch/types.h>

#include <functional>

#include "framework/optimization/evaluation_weights.h"
#include "framework/optimization/optimizer.h"
#include "framework/pipeline/checks/check_finite.h"
#include "framework/pipeline/device/gradients.h"
#include "tests/cuda/simulated_device.h"
#include "tests/cuda/tested_device.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

namespace tenon {
namespace {

using optimization::NamedTensor;

constexpr int64_t kFew = 3, kMany = 40;

std::vector<NamedTensor> make_parameters(int64_t count) {
  std::vector<NamedTensor> parameters;
  for (int64_t i = 0; i < count; ++i) {
    const at::Tensor tensor = at::ones({4, 3}, c10::Device(c10::kCUDA, 0)).requires_grad_();
    tensor.mutable_grad() = at::ones_like(tensor);
    parameters.push_back({"p" + std::to_string(i), tensor});
  }
  return parameters;
}

int64_t launches_of(const std::function<void()>& body) {
  const int64_t before = simulated::launches();
  body();
  return simulated::launches() - before;
}

int64_t launches_of_step(const config::OptimizerPlan& plan, int64_t parameters) {
  const auto optimizer = optimization::Optimizer::make(plan, make_parameters(parameters));
  const at::Tensor skip = at::zeros({}, c10::Device(c10::kCUDA, 0));
  optimizer->step({0.1}, skip);  // makes the state
  return launches_of([&] { optimizer->step({0.1}, skip); });
}

int64_t launches_of_gradients(int64_t parameters) {
  const std::vector<NamedTensor> list = make_parameters(parameters);
  pipeline::Gradients gradients(list);
  pipeline::NonFiniteFlag flag(c10::Device(c10::kCUDA, 0));
  return launches_of([&] {
    gradients.gather();
    gradients.scale_and_check(at::full({}, 0.5, c10::Device(c10::kCUDA, 0)), flag);
    gradients.clip_value(1);
    gradients.clip_norm(gradients.norm(), 1);
    gradients.magnitudes();
  });
}

int64_t launches_of_average(int64_t parameters) {
  std::vector<NamedTensor> list = make_parameters(parameters);
  for (NamedTensor& one : list) one.tensor = one.tensor.detach();
  optimization::WeightAverage average({config::AveragePlan::Kind::ema, 0.5, false, {}, {}}, list);
  average.update();
  return launches_of([&] {
    average.update();
    optimization::WeightAverage::InPlace averaged(&average);
    averaged.restore();
  });
}

pipeline::BuiltRun resnet(int64_t steps, bool checkpoints_activations) {
  return pipeline::BuiltRun(
      {{"model={use=\"resnet\",params={depth=18,width=8,stem=\"cifar\",channels=1,classes=10}}",
        "train={steps=" + std::to_string(steps) +
            ",cuda_graph=\"off\",activation_checkpointing=" + (checkpoints_activations ? "true}" : "false}"),
        "data.batch_size=8", "validation.every=\"never\"", "checkpoint.every=\"never\""},
       "",
       tests::tested_device().value()});
}

int64_t launches_of_training_step(bool checkpoints_activations) {
  const auto run = [&](int64_t steps) {
    pipeline::BuiltRun built = resnet(steps, checkpoints_activations);
    return launches_of([&] { built.train(); });
  };
  return run(3) - run(2);
}

int64_t launches_of_forward() {
  const pipeline::BuiltRun built = resnet(1, false);
  const at::Tensor images = at::zeros({8, 1, 8, 8}, c10::Device(c10::kCUDA, 0));
  return launches_of([&] { built.training->model.forward({.training = true}, std::vector{images}); });
}

}  // namespace

// The network has 60 buffers in 8 segments. For each segment, the buffers are saved and restored.
TEST_CASE("activation checkpointing launches the recomputed kernels and few more") {
  CHECK(launches_of_training_step(true) < launches_of_training_step(false) + launches_of_forward() + int64_t{8} * 4);
}

TEST_CASE("the kernels of an optimizer's step do not grow with the number of parameters") {
  config::OptimizerPlan plan;
  plan.lr = 0.1;
  plan.weight_decay = 0.01;
  for (const decltype(plan.rule)& rule :
       std::vector<decltype(plan.rule)>{config::SgdPlan{.momentum = 0.9}, config::AdamPlan{}, config::RmsPropPlan{},
                                        config::AdagradPlan{}, config::LionPlan{}}) {
    plan.rule = rule;
    CAPTURE(rule.index());
    CHECK(launches_of_step(plan, kMany) == launches_of_step(plan, kFew));
  }
}

TEST_CASE("the kernels that scale, check and clip gradients do not grow with the number of parameters") {
  CHECK(launches_of_gradients(kMany) == launches_of_gradients(kFew));
}

TEST_CASE("the kernels that average weights and swap them do not grow with the number of parameters") {
  CHECK(launches_of_average(kMany) == launches_of_average(kFew));
}

}  // namespace tenon
