// The keys of [optimizer].
#pragma once

#include <algorithm>
#include <vector>

#include "framework/config/file/keys.h"
#include "framework/config/plan/optimizer_plan.h"

namespace tenon::config {

template <class Visitor>
void declare(Visitor& keys, SgdPlan& sgd) {
  keys("momentum", sgd.momentum, {.range = "[0, 1)", .doc = "Momentum factor."});
  keys("dampening", sgd.dampening, {.range = "[0, 1]", .doc = "Dampening for momentum."});
  keys("nesterov", sgd.nesterov, {.doc = "Enables Nesterov momentum."});
}

template <class Visitor>
void declare(Visitor& keys, AdamPlan& adam) {
  keys("betas", adam.betas,
       {.range = "[0, 1)", .doc = "Decay of the running averages of the gradient and its square."});
  keys("eps", adam.eps, {.range = "(0, inf)", .doc = "Added to the denominator."});
  keys("amsgrad", adam.amsgrad, {.doc = "AMSGrad: divide by the largest mean square so far."});
}

template <class Visitor>
void declare(Visitor& keys, RmsPropPlan& rmsprop) {
  keys("alpha", rmsprop.alpha, {.range = "[0, 1)", .doc = "Decay of the running average of the squared gradient."});
  keys("eps", rmsprop.eps, {.range = "(0, inf)", .doc = "Added to the denominator."});
  keys("momentum", rmsprop.momentum, {.range = "[0, 1)", .doc = "Momentum factor."});
  keys("centered", rmsprop.centered, {.doc = "Divide by the standard deviation of the gradient."});
}

template <class Visitor>
void declare(Visitor& keys, AdagradPlan& adagrad) {
  keys("lr_decay", adagrad.lr_decay,
       {.range = "[0, inf)", .doc = "Step n has the learning rate lr / (1 + (n - 1) lr_decay)."});
  keys("initial_accumulator_value", adagrad.initial_accumulator_value,
       {.range = "[0, inf)", .doc = "Initial value of the sum of squares."});
  keys("eps", adagrad.eps, {.range = "(0, inf)", .doc = "Added to the denominator."});
}

template <class Visitor>
void declare(Visitor& keys, LionPlan& lion) {
  keys("betas", lion.betas,
       {.range = "[0, 1)", .doc = "Weights of the momentum in the update and in the next momentum."});
}

template <class Visitor>
void declare(Visitor& keys, MuonPlan& muon) {
  keys("momentum", muon.momentum, {.range = "[0, 1)", .doc = "Decay of the running average of the gradient."});
  keys("nesterov", muon.nesterov, {.doc = "Enables Nesterov momentum."});
  keys("ns_coefficients", muon.ns_coefficients,
       {.range = "(-inf, inf)", .doc = "Coefficients of the Newton-Schulz iteration."});
  keys("ns_steps", muon.ns_steps, {.range = "[1, 99]", .doc = "Number of Newton-Schulz iterations."});
  keys("eps", muon.eps, {.range = "(0, inf)", .doc = "Lower bound of the norm that an update is divided by."});
  keys("adjust_lr", muon.adjust_lr, {.doc = "How the learning rate depends on the shape of a matrix."});
  keys("adamw_match", muon.adamw_match, {.doc = "Name patterns of matrices that AdamW updates."});
  keys("adamw_lr_scale", muon.adamw_lr_scale, {.range = "(0, inf)", .doc = "AdamW's learning rate is lr times this."});
  keys("adamw_weight_decay", muon.adamw_weight_decay,
       {.range = "[0, inf)", .doc = "Weight decay of the parameters that AdamW updates."});
  keys("adamw_betas", muon.adamw.betas, {.range = "[0, 1)", .doc = "Same as betas of adamw."});
  keys("adamw_eps", muon.adamw.eps, {.range = "(0, inf)", .doc = "Same as eps of adamw."});
}

template <class Visitor>
void declare(Visitor& keys, ScheduleFreeAdamWPlan& schedule_free) {
  keys("betas", schedule_free.betas,
       {.range = "(0, 1)", .doc = "Share of the average in the weights of training, and decay of the mean square."});
  keys("eps", schedule_free.eps, {.range = "(0, inf)", .doc = "Added to the denominator."});
  keys("r", schedule_free.r,
       {.range = "[0, inf)", .doc = "Step k has a weight in the average that grows with k to this power."});
  keys("weight_lr_power", schedule_free.weight_lr_power,
       {.range = "[0, inf)", .doc = "The weight of a step in the average grows with the learning rate to this power."});
}

inline const char* describe_weight_decay(const OptimizerPlan& plan) {
  const auto* adam = std::get_if<AdamPlan>(&plan.rule);
  if (std::holds_alternative<MuonPlan>(plan.rule)) return "Decoupled weight decay of the matrices that Muon updates.";
  const bool is_decoupled = (adam != nullptr && adam->decay == AdamPlan::Decay::decoupled) ||
                            std::holds_alternative<LionPlan>(plan.rule) ||
                            std::holds_alternative<ScheduleFreeAdamWPlan>(plan.rule);
  return is_decoupled ? "Decoupled weight decay, scaled by the learning rate and not added to the gradient."
                      : "Weight decay (L2 penalty), added to the gradient.";
}

template <class Visitor>
void declare(Visitor& keys, OptimizerPlan& plan) {
  keys("lr", plan.lr, {.range = "(0, inf)", .is_required = true, .doc = "The learning rate, before the schedule."});
  keys("weight_decay", plan.weight_decay, {.range = "[0, inf)", .doc = describe_weight_decay(plan)});
  keys("decay", plan.decay, {.doc = "Which parameters have weight decay: those with two or more dimensions, or all."});
  keys("layer_decay", plan.layer_decay,
       {.range = "(0, 1]", .doc = "The learning rate of a layer is that of the next layer times this."});
  std::visit([&](auto& rule) { declare(keys, rule); }, plan.rule);
}

inline const std::vector<PlanChoice<OptimizerPlan>>& optimizer_choices() {
  static const std::vector<PlanChoice<OptimizerPlan>> choices = {
      {"sgd", {.rule = SgdPlan{}}},
      {"adam", {.rule = AdamPlan{.decay = AdamPlan::Decay::coupled}}},
      {"adamw", {.rule = AdamPlan{}, .weight_decay = 0.01}},
      {"rmsprop", {.rule = RmsPropPlan{}}},
      {"adagrad", {.rule = AdagradPlan{}}},
      {"lion", {.rule = LionPlan{}}},
      {"muon", {.rule = MuonPlan{}, .weight_decay = 0.1}},
      {"schedule_free_adamw", {.rule = ScheduleFreeAdamWPlan{}}}};
  return choices;
}

// The `use` of a plan.
inline const char* use_of(const OptimizerPlan& plan) {
  const auto* adam = std::get_if<AdamPlan>(&plan.rule);
  const auto fits = [&](const PlanChoice<OptimizerPlan>& choice) {
    const auto& rule = choice.defaults.rule;
    return rule.index() == plan.rule.index() && (adam == nullptr || std::get<AdamPlan>(rule).decay == adam->decay);
  };
  return std::ranges::find_if(optimizer_choices(), fits)->use;
}

}  // namespace tenon::config
