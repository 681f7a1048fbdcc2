// Schedule-free AdamW against the package schedulefree, and the weights that it evaluates.
#include <cmath>
#include <string>
#include <vector>

#include "framework/optimization/evaluation_weights.h"
#include "framework/optimization/optimizer.h"
#include "framework/optimization/schedule.h"
#include "tests/doctest_with_torch.h"

namespace tenon::optimization::schedule_free_test {
namespace {

// Start values, gradients and rates as in tests/parity/make_schedule_free.py.
enum class Gradients { all, some };
constexpr int64_t kSteps = 50;
constexpr double kLearningRate = 0.0625;
const std::vector<int64_t> kKeptSteps = {0, 11, 49};
const std::vector<std::vector<int64_t>> kShapes = {{3, 5}, {5}, {}, {4, 3}};

struct Reference {
  const char* name;
  config::ScheduleFreeAdamWPlan plan;
  double weight_decay;
  int64_t warmup_steps;  // of the package
  Gradients gradients;
  at::ScalarType dtype;
  std::vector<std::vector<double>> values;  // weights of training and of evaluation after each kept step
};

const std::vector<Reference>& references() {
  static const std::vector<Reference> references = {
#include "tests/parity/reference/schedule_free.inc"
  };
  return references;
}

at::Tensor pattern(size_t parameter, int64_t factor, int64_t offset, int64_t modulus, int64_t divisor,
                   at::ScalarType dtype) {
  const int64_t count = c10::multiply_integers(kShapes[parameter]);
  const at::Tensor numbers = (at::arange(count, at::kLong) * factor + offset).remainder(modulus) - modulus / 2;
  return (numbers.to(dtype) / divisor).reshape(kShapes[parameter]);
}

std::vector<NamedTensor> make_parameters(at::ScalarType dtype) {
  std::vector<NamedTensor> parameters;
  for (size_t i = 0; i < kShapes.size(); ++i)
    parameters.push_back(
        {"p" + std::to_string(i), pattern(i, 11, static_cast<int64_t>(i), 23, 8, dtype).requires_grad_()});
  return parameters;
}

void set_gradients(const std::vector<NamedTensor>& parameters, Gradients gradients, int64_t step) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& tensor = parameters[i].tensor;
    const bool has_gradient =
        gradients == Gradients::all || (step != 3 && (i != 1 || step % 2 == 1) && (i != 2 || step >= 10));
    const int64_t offset = 13 * step + 5 * static_cast<int64_t>(i);
    tensor.mutable_grad() = has_gradient ? pattern(i, 7, offset, 17, 16, tensor.scalar_type()) : at::Tensor();
  }
}

config::OptimizerPlan plan_of(const config::ScheduleFreeAdamWPlan& rule, double weight_decay = 0) {
  config::OptimizerPlan plan;
  plan.rule = rule;
  plan.lr = kLearningRate;
  plan.weight_decay = weight_decay;
  plan.decay = config::OptimizerPlan::Decay::all;
  return plan;
}

// The package's warm-up of n steps as written in a run file: n - 1 steps that start at 1 / n.
Schedule schedule_of(int64_t warmup_steps) {
  config::SchedulePlan plan;
  if (warmup_steps > 0) {
    plan.warmup = {config::ScheduleLength::Unit::steps, static_cast<double>(warmup_steps - 1)};
    plan.warmup_start_factor = 1 / static_cast<double>(warmup_steps);
  }
  return Schedule::make(plan, kLearningRate, {kSteps, kSteps});
}

std::vector<double> values_of(const std::vector<NamedTensor>& parameters) {
  std::vector<double> values;
  for (const NamedTensor& parameter : parameters) {
    const at::Tensor flat = parameter.tensor.detach().to(at::kDouble).flatten();
    values.insert(values.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  }
  return values;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

std::vector<at::Tensor> copies_of(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> copies;
  for (const NamedTensor& parameter : parameters) copies.push_back(parameter.tensor.detach().clone());
  return copies;
}

void check_equal(const std::vector<NamedTensor>& parameters, const std::vector<at::Tensor>& expected) {
  for (size_t i = 0; i < parameters.size(); ++i) CHECK(at::equal(parameters[i].tensor.detach(), expected[i]));
}

TEST_CASE("the weights of training and of evaluation equal those of the package over fifty steps") {
  REQUIRE(references().size() == 12);
  for (const Reference& reference : references()) {
    CAPTURE(reference.name);
    CAPTURE(reference.dtype);
    const auto optimizer =
        Optimizer::make(plan_of(reference.plan, reference.weight_decay), make_parameters(reference.dtype));
    ScheduleFreeWeights weights(*optimizer);
    const Schedule schedule = schedule_of(reference.warmup_steps);
    // Each of fifty steps rounds values below 4 a few times.
    const double tolerance = reference.dtype == at::kFloat ? 1e-5 : 2e-14;
    size_t kept = 0;
    for (int64_t step = 0; step < kSteps; ++step) {
      set_gradients(optimizer->parameters(), reference.gradients, step);
      optimizer->step(schedule.rates(step));
      weights.update();
      if (kept == kKeptSteps.size() || step != kKeptSteps[kept]) continue;
      CAPTURE(step);
      CHECK(largest_difference(values_of(optimizer->parameters()), reference.values[2 * kept]) <= tolerance);
      ScheduleFreeWeights::InPlace in_place(&weights);
      CHECK(largest_difference(values_of(optimizer->parameters()), reference.values[2 * kept + 1]) <= tolerance);
      ++kept;
    }
    CHECK(kept == kKeptSteps.size());
  }
}

TEST_CASE("an evaluation changes no bit of the weights of training") {
  const auto optimizer = Optimizer::make(plan_of({}), make_parameters(at::kFloat));
  ScheduleFreeWeights weights(*optimizer);
  for (int64_t step = 0; step < 5; ++step) {
    set_gradients(optimizer->parameters(), Gradients::all, step);
    optimizer->step({kLearningRate});
    weights.update();
    const std::vector<at::Tensor> before = copies_of(optimizer->parameters());
    const std::vector<NamedTensor> others = weights.weights_outside_model();
    {
      const ScheduleFreeWeights::InPlace in_place(&weights);
      check_equal(others, before);
      if (step > 0) CHECK_FALSE(at::equal(optimizer->parameters()[0].tensor.detach(), before[0]));
    }
    check_equal(optimizer->parameters(), before);
  }
}

TEST_CASE("weights of training that are restored before the optimizer's state are those that training updates") {
  const auto optimizer = Optimizer::make(plan_of({}), make_parameters(at::kFloat));
  for (int64_t step = 0; step < 3; ++step) {
    set_gradients(optimizer->parameters(), Gradients::all, step);
    optimizer->step({kLearningRate});
  }
  const auto resumed = Optimizer::make(plan_of({}), make_parameters(at::kFloat));
  ScheduleFreeWeights weights(*resumed);
  weights.set_count(3);
  {
    const ScheduleFreeWeights::InPlace in_place(&weights);
    for (const NamedTensor& parameter : resumed->parameters()) parameter.tensor.detach().zero_();
    const std::vector<NamedTensor> others = weights.weights_outside_model();
    for (size_t i = 0; i < others.size(); ++i) others[i].tensor.copy_(optimizer->parameters()[i].tensor.detach());
  }
  resumed->load_state(optimizer->state());
  check_equal(resumed->parameters(), copies_of(optimizer->parameters()));
  for (Optimizer* one : {optimizer.get(), resumed.get()}) {
    set_gradients(one->parameters(), Gradients::all, 3);
    one->step({kLearningRate});
  }
  check_equal(resumed->parameters(), copies_of(optimizer->parameters()));
}

TEST_CASE("a parameter that is frozen first starts like the others") {
  config::OptimizerPlan plan = plan_of({});
  config::ParameterGroupPlan late;
  late.match = {"p1"};
  late.frozen_epochs = 1;
  config::ParameterGroupPlan never;
  never.match = {"p3"};
  never.frozen = true;
  plan.groups = {late, never};
  const auto optimizer = Optimizer::make(plan, make_parameters(at::kDouble));
  ScheduleFreeWeights weights(*optimizer);
  CHECK(weights.weights_outside_model().size() == 3);
  const std::vector<at::Tensor> before = copies_of(optimizer->parameters());
  for (int64_t step = 0; step < 10; ++step) {
    if (step == 9) optimizer->start_epoch(2);
    for (const NamedTensor& parameter : optimizer->parameters())
      if (parameter.tensor.requires_grad()) parameter.tensor.mutable_grad() = at::ones_like(parameter.tensor);
    optimizer->step({kLearningRate});
    weights.update();
    if (step != 8) continue;
    const ScheduleFreeWeights::InPlace in_place(&weights);
    CHECK(at::equal(optimizer->parameters()[1].tensor.detach(), before[1]));
  }
  CHECK(at::equal(optimizer->parameters()[3].tensor.detach(), before[3]));
  // The first step of Adam with a gradient of 1 is the learning rate; the average then is the new point.
  const at::Tensor change = before[1] - optimizer->parameters()[1].tensor.detach();
  CHECK(at::allclose(change, at::full_like(change, kLearningRate), 1e-6, 0));
}

TEST_CASE("steps with a learning rate of zero have no weight in the average") {
  const auto optimizer = Optimizer::make(plan_of({}), make_parameters(at::kFloat));
  const std::vector<at::Tensor> before = copies_of(optimizer->parameters());
  set_gradients(optimizer->parameters(), Gradients::all, 0);
  optimizer->step({0});
  check_equal(optimizer->parameters(), before);
  optimizer->step({kLearningRate});
  for (size_t i = 0; i < optimizer->parameters().size(); ++i) {
    // After the first step with a weight, the average is z.
    for (const NamedTensor& entry : optimizer->state())
      if (entry.name == optimizer->parameters()[i].name + ".z")
        CHECK(at::allclose(optimizer->evaluation_weights(i), entry.tensor, 1e-6, 1e-6));
  }
}

}  // namespace
}  // namespace tenon::optimization::schedule_free_test
