// The keys of [schedule].
#pragma once

#include <algorithm>
#include <vector>

#include "framework/config/file/keys.h"
#include "framework/config/plan/schedule_plan.h"

namespace tenon::config {

inline constexpr const char* kLengthDoc = "How long the learning rate falls. Afterwards it is constant.";
inline constexpr const char* kGammaDoc = "Multiplicative factor of learning rate decay.";
inline constexpr const char* kEtaMinDoc = "The lowest learning rate.";
inline constexpr const char* kEndFactorDoc = "The last learning rate is lr times this.";

template <class Visitor>
void declare(Visitor& /*keys*/, ConstantSchedule& /*constant*/) {}

template <class Visitor>
void declare(Visitor& keys, LinearSchedule& linear) {
  keys("end_factor", linear.end_factor, {.range = "[0, 1]", .doc = kEndFactorDoc});
  keys("length", linear.length, {.doc = kLengthDoc});
}

template <class Visitor>
void declare(Visitor& keys, CosineSchedule& cosine) {
  keys("eta_min", cosine.eta_min, {.range = "[0, inf)", .doc = kEtaMinDoc});
  keys("length", cosine.length, {.doc = kLengthDoc});
}

template <class Visitor>
void declare(Visitor& keys, CosineRestartsSchedule& restarts) {
  keys("t_0", restarts.t_0, {.is_required = true, .doc = "Length of the first cycle."});
  keys("t_mult", restarts.t_mult,
       {.range = "[1, 1000]", .doc = "How many times longer each cycle is than the previous one."});
  keys("eta_min", restarts.eta_min, {.range = "[0, inf)", .doc = kEtaMinDoc});
}

template <class Visitor>
void declare(Visitor& keys, OneCycleSchedule& one_cycle) {
  keys("warmup_fraction", one_cycle.warmup_fraction,
       {.range = "[0, 1]", .doc = "The fraction of all steps in which the learning rate rises."});
  keys("div_factor", one_cycle.div_factor, {.range = "(0, inf)", .doc = "The first learning rate is lr / div_factor."});
  keys("final_div_factor", one_cycle.final_div_factor,
       {.range = "(0, inf)", .doc = "The last learning rate is the first / final_div_factor."});
  keys("anneal", one_cycle.anneal, {.doc = "The shape of the rise and of the fall."});
  keys("cycle_momentum", one_cycle.cycle_momentum, {.doc = "Lower the momentum while the learning rate rises."});
  keys("base_momentum", one_cycle.base_momentum, {.range = "[0, 1)", .doc = "The momentum at the peak learning rate."});
  keys("max_momentum", one_cycle.max_momentum,
       {.range = "[0, 1)", .doc = "The momentum at the beginning and at the end."});
}

template <class Visitor>
void declare(Visitor& keys, PolynomialSchedule& polynomial) {
  keys("power", polynomial.power, {.range = "(0, inf)", .doc = "Exponent of the remaining fraction of the length."});
  keys("length", polynomial.length, {.doc = kLengthDoc});
}

template <class Visitor>
void declare(Visitor& keys, StepSchedule& step) {
  keys("step_size", step.step_size, {.is_required = true, .doc = "Period of learning rate decay."});
  keys("gamma", step.gamma, {.range = "(0, 1]", .doc = kGammaDoc});
}

template <class Visitor>
void declare(Visitor& keys, MultiStepSchedule& multi_step) {
  keys("milestones", multi_step.milestones, {.is_required = true, .doc = "When the learning rate decays."});
  keys("gamma", multi_step.gamma, {.range = "(0, 1]", .doc = kGammaDoc});
}

template <class Visitor>
void declare(Visitor& keys, ExponentialSchedule& exponential) {
  keys("gamma", exponential.gamma, {.range = "(0, 1]", .is_required = true, .doc = kGammaDoc});
  keys("every", exponential.every, {.doc = "Period in which the learning rate is multiplied by gamma."});
}

template <class Visitor>
void declare(Visitor& keys, WarmupStableDecaySchedule& stable) {
  keys("decay", stable.decay, {.doc = "Length of the decay at the end of the run."});
  keys("shape", stable.shape, {.doc = "The shape of the decay."});
  keys("end_factor", stable.end_factor, {.range = "[0, 1]", .doc = kEndFactorDoc});
}

template <class Visitor>
void declare(Visitor& keys, PlateauSchedule& plateau) {
  keys("monitor", plateau.metric, {.doc = "The monitored metric, as named in the history."});
  keys("mode", plateau.mode, {.doc = "Whether lower is better."});
  keys("factor", plateau.factor, {.range = "(0, 1)", .doc = kGammaDoc});
  keys("patience", plateau.patience,
       {.range = "[0, 1e9]", .doc = "Number of allowed values in a row without improvement."});
  keys("threshold", plateau.threshold, {.range = "[0, inf)", .doc = "The smallest change that is an improvement."});
  keys("threshold_mode", plateau.threshold_mode,
       {.doc = "Whether the threshold is relative to the best value, or absolute."});
  keys("cooldown", plateau.cooldown, {.range = "[0, 1e9]", .doc = "Number of values to ignore after a reduction."});
  keys("min_lr", plateau.min_lr, {.range = "[0, inf)", .doc = kEtaMinDoc});
  keys("eps", plateau.eps, {.range = "[0, inf)", .doc = "Smaller reductions are skipped."});
}

template <class Visitor>
void declare(Visitor& keys, SchedulePlan& plan) {
  std::visit([&](auto& shape) { declare(keys, shape); }, plan.shape);
  keys("warmup", plan.warmup, {.doc = "Length of the warm-up, in which the learning rate rises."});
  keys("warmup_start_factor", plan.warmup_start_factor,
       {.range = "[0, 1]", .doc = "The warm-up starts at the learning rate times this."});
}

inline const std::vector<PlanChoice<SchedulePlan>>& schedule_choices() {
  static const std::vector<PlanChoice<SchedulePlan>> choices = {
      {"constant", {.shape = ConstantSchedule{}}},
      {"linear", {.shape = LinearSchedule{}}},
      {"cosine", {.shape = CosineSchedule{}}},
      {"cosine_restarts", {.shape = CosineRestartsSchedule{}}},
      {"one_cycle", {.shape = OneCycleSchedule{}}},
      {"polynomial", {.shape = PolynomialSchedule{}}},
      {"step", {.shape = StepSchedule{}}},
      {"multi_step", {.shape = MultiStepSchedule{}}},
      {"exponential", {.shape = ExponentialSchedule{}}},
      {"warmup_stable_decay", {.shape = WarmupStableDecaySchedule{}, .warmup = {ScheduleLength::Unit::run, 0.05}}},
      {"reduce_on_plateau", {.shape = PlateauSchedule{}}}};
  return choices;
}

// The `use` of a plan.
inline const char* use_of(const SchedulePlan& plan) {
  const auto fits = [&](const PlanChoice<SchedulePlan>& choice) {
    return choice.defaults.shape.index() == plan.shape.index();
  };
  return std::ranges::find_if(schedule_choices(), fits)->use;
}

}  // namespace tenon::config
