#include "framework/config/plan/plan_writer.h"

namespace tenon::config {
namespace {

template <size_t N>
std::vector<double> list(const std::array<double, N>& numbers) {
  return {numbers.begin(), numbers.end()};
}

const char* id_of(const OptimizerPlan& plan) {
  constexpr std::array<const char*, 7> kIds = {
      "sgd", "adamw", "rmsprop", "adagrad", "lion", "muon", "schedule_free_adamw"};
  const auto* adam = std::get_if<AdamPlan>(&plan.rule);
  if (adam != nullptr && adam->decay == AdamPlan::Decay::coupled) return "adam";
  return kIds[plan.rule.index()];
}

struct RuleWriter {
  PlanWriter& writer;

  void operator()(const SgdPlan& sgd) {
    writer.key("momentum", sgd.momentum);
    writer.key("dampening", sgd.dampening);
    writer.key("nesterov", sgd.nesterov);
  }
  void operator()(const AdamPlan& adam) {
    writer.key("betas", list(adam.betas));
    writer.key("eps", adam.eps);
    writer.key("amsgrad", adam.amsgrad);
  }
  void operator()(const RmsPropPlan& rmsprop) {
    writer.key("alpha", rmsprop.alpha);
    writer.key("eps", rmsprop.eps);
    writer.key("momentum", rmsprop.momentum);
    writer.key("centered", rmsprop.centered);
  }
  void operator()(const AdagradPlan& adagrad) {
    writer.key("lr_decay", adagrad.lr_decay);
    writer.key("initial_accumulator_value", adagrad.initial_accumulator_value);
    writer.key("eps", adagrad.eps);
  }
  void operator()(const LionPlan& lion) { writer.key("betas", list(lion.betas)); }
  void operator()(const MuonPlan& muon) {
    const bool matches_rms = muon.adjust_lr == MuonPlan::AdjustLr::match_rms_adamw;
    writer.key("momentum", muon.momentum);
    writer.key("nesterov", muon.nesterov);
    writer.key("ns_coefficients", list(muon.ns_coefficients));
    writer.key("ns_steps", muon.ns_steps);
    writer.key("eps", muon.eps);
    writer.key("adjust_lr", matches_rms ? "match_rms_adamw" : "original");
    writer.key("adamw_match", muon.adamw_match);
    writer.key("adamw_lr_scale", muon.adamw_lr_scale);
    writer.key("adamw_weight_decay", muon.adamw_weight_decay);
    writer.key("adamw_betas", list(muon.adamw.betas));
    writer.key("adamw_eps", muon.adamw.eps);
  }
  void operator()(const ScheduleFreeAdamWPlan& schedule_free) {
    writer.key("betas", list(schedule_free.betas));
    writer.key("eps", schedule_free.eps);
    writer.key("r", schedule_free.r);
    writer.key("weight_lr_power", schedule_free.weight_lr_power);
  }
};

void write_group(PlanWriter& writer, const ParameterGroupPlan& group) {
  writer.list_table("optimizer.group");
  writer.key("match", group.match);
  if (group.frozen) {
    writer.key("frozen", true);
    if (group.eval_batch_norm) writer.key("eval_batch_norm", true);
    return;
  }
  writer.key("lr_scale", group.lr_scale);
  if (group.weight_decay) writer.key("weight_decay", *group.weight_decay);
  if (group.frozen_epochs > 0) writer.key("frozen_epochs", group.frozen_epochs);
  if (group.eval_batch_norm) writer.key("eval_batch_norm", true);
}

struct ShapeWriter {
  PlanWriter& writer;

  void operator()(const ConstantSchedule&) { writer.key("use", "constant"); }
  void operator()(const LinearSchedule& linear) {
    writer.key("use", "linear");
    writer.key("end_factor", linear.end_factor);
    writer.key("length", to_value(linear.length));
  }
  void operator()(const CosineSchedule& cosine) {
    writer.key("use", "cosine");
    writer.key("eta_min", cosine.eta_min);
    writer.key("length", to_value(cosine.length));
  }
  void operator()(const CosineRestartsSchedule& restarts) {
    writer.key("use", "cosine_restarts");
    writer.key("t_0", to_value(restarts.t_0));
    writer.key("t_mult", restarts.t_mult);
    writer.key("eta_min", restarts.eta_min);
  }
  void operator()(const OneCycleSchedule& one_cycle) {
    const bool is_linear = one_cycle.anneal == OneCycleSchedule::Anneal::linear;
    writer.key("use", "one_cycle");
    writer.key("warmup_fraction", one_cycle.warmup_fraction);
    writer.key("div_factor", one_cycle.div_factor);
    writer.key("final_div_factor", one_cycle.final_div_factor);
    writer.key("anneal", is_linear ? "linear" : "cosine");
    writer.key("cycle_momentum", one_cycle.cycle_momentum);
    writer.key("base_momentum", one_cycle.base_momentum);
    writer.key("max_momentum", one_cycle.max_momentum);
  }
  void operator()(const PolynomialSchedule& polynomial) {
    writer.key("use", "polynomial");
    writer.key("power", polynomial.power);
    writer.key("length", to_value(polynomial.length));
  }
  void operator()(const StepSchedule& step) {
    writer.key("use", "step");
    writer.key("step_size", to_value(step.step_size));
    writer.key("gamma", step.gamma);
  }
  void operator()(const MultiStepSchedule& multi_step) {
    writer.key("use", "multi_step");
    writer.list("milestones", multi_step.milestones);
    writer.key("gamma", multi_step.gamma);
  }
  void operator()(const ExponentialSchedule& exponential) {
    writer.key("use", "exponential");
    writer.key("gamma", exponential.gamma);
    writer.key("every", to_value(exponential.every));
  }
  void operator()(const WarmupStableDecaySchedule& stable) {
    constexpr std::array<const char*, 3> kShapes = {"linear", "cosine", "one_minus_sqrt"};
    writer.key("use", "warmup_stable_decay");
    writer.key("decay", to_value(stable.decay));
    writer.key("shape", kShapes[static_cast<size_t>(stable.shape)]);
    writer.key("end_factor", stable.end_factor);
  }
  void operator()(const PlateauSchedule& plateau) {
    writer.key("use", "reduce_on_plateau");
    writer.key("monitor", plateau.metric);
    writer.key("mode", plateau.mode == PlateauSchedule::Mode::max ? "max" : "min");
    writer.key("factor", plateau.factor);
    writer.key("patience", plateau.patience);
    writer.key("threshold", plateau.threshold);
    writer.key("threshold_mode", plateau.threshold_mode == PlateauSchedule::ThresholdMode::absolute ? "abs" : "rel");
    writer.key("cooldown", plateau.cooldown);
    writer.key("min_lr", plateau.min_lr);
    writer.key("eps", plateau.eps);
  }
};

}  // namespace

void write_optimizer(PlanWriter& writer, const OptimizerPlan& plan) {
  writer.table("optimizer");
  writer.key("use", id_of(plan));
  writer.key("lr", plan.lr);
  writer.key("weight_decay", plan.weight_decay);
  writer.key("decay", plan.decay == OptimizerPlan::Decay::all ? "all" : "matrices");
  writer.key("layer_decay", plan.layer_decay);
  std::visit(RuleWriter{writer}, plan.rule);
  for (const ParameterGroupPlan& group : plan.groups) write_group(writer, group);
}

void write_schedule(PlanWriter& writer, const SchedulePlan& plan) {
  writer.table("schedule");
  std::visit(ShapeWriter{writer}, plan.shape);
  writer.key("warmup", to_value(plan.warmup));
  writer.key("warmup_start_factor", plan.warmup_start_factor);
}

}  // namespace tenon::config
