// Steps that a flag on the device skips: nothing may change, and training continues as if they had not happened.
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "framework/optimization/optimizer.h"
#include "tests/doctest_with_torch.h"

namespace tenon::optimization::skip_test {
namespace {

config::OptimizerPlan plan_of(decltype(config::OptimizerPlan::rule) rule) {
  config::OptimizerPlan plan;
  plan.rule = std::move(rule);
  plan.weight_decay = 0.125;
  plan.decay = config::OptimizerPlan::Decay::all;
  return plan;
}

std::vector<config::OptimizerPlan> all_plans() {
  return {plan_of(config::SgdPlan{}),
          plan_of(config::SgdPlan{.momentum = 0.9, .nesterov = true}),
          plan_of(config::SgdPlan{.momentum = 0.9, .dampening = 0.5}),
          plan_of(config::AdamPlan{.decay = config::AdamPlan::Decay::coupled}),
          plan_of(config::AdamPlan{.amsgrad = true}),
          plan_of(config::RmsPropPlan{.momentum = 0.5, .centered = true}),
          plan_of(config::AdagradPlan{.lr_decay = 0.1}),
          plan_of(config::LionPlan{}),
          plan_of(config::MuonPlan{}),
          plan_of(config::ScheduleFreeAdamWPlan{})};
}

std::vector<NamedTensor> make_parameters() {
  return {{"matrix", (at::arange(12, at::kFloat) / 8 - 1).reshape({3, 4}).requires_grad_()},
          {"vector", (at::arange(4, at::kFloat) / 4).requires_grad_()}};
}

void set_gradients(const std::vector<NamedTensor>& parameters, int step) {
  for (const NamedTensor& parameter : parameters)
    parameter.tensor.mutable_grad() = (parameter.tensor.detach() * 3 + step).sin();
}

void spoil_gradients(const std::vector<NamedTensor>& parameters) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const NamedTensor& parameter : parameters)
    parameter.tensor.mutable_grad() = at::full_like(parameter.tensor, infinity);
}

std::map<std::string, at::Tensor> copy_of(const Optimizer& optimizer) {
  std::map<std::string, at::Tensor> copies;
  for (const NamedTensor& entry : optimizer.state()) copies[entry.name] = entry.tensor.clone();
  for (const NamedTensor& parameter : optimizer.parameters())
    copies[parameter.name] = parameter.tensor.detach().clone();
  return copies;
}

void check_equal(const std::map<std::string, at::Tensor>& a, const std::map<std::string, at::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& [key, tensor] : a) {
    const std::string& name = key;
    CAPTURE(name);
    CHECK(at::equal(tensor, b.at(name)));
  }
}

TEST_CASE("a flagged step changes no weight, state or counter") {
  for (const config::OptimizerPlan& plan : all_plans()) {
    CAPTURE(plan.rule.index());
    const auto optimizer = Optimizer::make(plan, make_parameters());
    for (int step = 0; step < 3; ++step) {
      set_gradients(optimizer->parameters(), step);
      optimizer->step({0.1}, at::zeros({}));
    }
    const auto before = copy_of(*optimizer);
    spoil_gradients(optimizer->parameters());
    optimizer->step({0.1}, at::ones({}));
    check_equal(copy_of(*optimizer), before);
  }
}

TEST_CASE("flagged steps, including the first, do not affect the other steps") {
  for (const config::OptimizerPlan& plan : all_plans()) {
    CAPTURE(plan.rule.index());
    const auto plain = Optimizer::make(plan, make_parameters());
    const auto flagged = Optimizer::make(plan, make_parameters());
    for (int step = 0; step < 4; ++step) {
      spoil_gradients(flagged->parameters());
      flagged->step({0.1}, at::ones({}));
      set_gradients(plain->parameters(), step);
      set_gradients(flagged->parameters(), step);
      plain->step({0.1});
      flagged->step({0.1}, at::zeros({}));
    }
    check_equal(copy_of(*flagged), copy_of(*plain));
  }
}

}  // namespace
}  // namespace tenon::optimization::skip_test
