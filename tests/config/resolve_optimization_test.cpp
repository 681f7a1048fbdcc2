// [optimizer], [[optimizer.group]] and [schedule]: defaults, accepted values and errors.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/config/run_file.h"

namespace tenon::config {
namespace {

using Unit = ScheduleLength::Unit;

OptimizerPlan optimizer_of(const std::string& table) {
  return plan_of(kShortRunFile, {"optimizer={" + table + "}"}).optimizer;
}

template <class T>
T rule_of(const std::string& use) {
  return std::get<T>(optimizer_of("use='" + use + "', lr=1").rule);
}

template <class T>
T shape_of(const std::string& table) {
  return std::get<T>(plan_of(kShortRunFile, {"schedule={" + table + "}"}).schedule.shape);
}

std::string schedule_error(const std::string& table) { return error_of(kShortRunFile, {"schedule={" + table + "}"}); }

ScheduleLength warmup_of(const std::string& table) {
  return plan_of(kShortRunFile, {"schedule={" + table + "}"}).schedule.warmup;
}

bool is(const ScheduleLength& length, Unit unit, double count) { return length.unit == unit && length.count == count; }

}  // namespace

TEST_CASE("adamw has the defaults of its authors") {
  const OptimizerPlan plan = plan_of(kShortRunFile).optimizer;
  const auto adamw = std::get<AdamPlan>(plan.rule);
  CHECK(adamw.decay == AdamPlan::Decay::decoupled);
  CHECK(adamw.betas == std::array<double, 2>{0.9, 0.999});
  CHECK(adamw.eps == 1e-8);
  CHECK_FALSE(adamw.amsgrad);
  CHECK(plan.lr == 1e-3);
  CHECK(plan.weight_decay == 0.01);
  CHECK(plan.decay == OptimizerPlan::Decay::matrices);
  CHECK(plan.layer_decay == 1);
  CHECK(plan.groups.empty());
}

TEST_CASE("sgd has no momentum, dampening, decay or nesterov by default") {
  const OptimizerPlan plan = optimizer_of("use='sgd', lr=1");
  const auto sgd = std::get<SgdPlan>(plan.rule);
  CHECK(plan.lr == 1.0);
  CHECK(plan.weight_decay == 0);
  CHECK(sgd.momentum == 0);
  CHECK(sgd.dampening == 0);
  CHECK_FALSE(sgd.nesterov);
}

TEST_CASE("the other optimizers have the defaults of PyTorch, and lion those of its paper") {
  CHECK(rule_of<AdamPlan>("adam").decay == AdamPlan::Decay::coupled);
  CHECK(optimizer_of("use='adam', lr=1").weight_decay == 0);
  CHECK(rule_of<RmsPropPlan>("rmsprop").alpha == 0.99);
  CHECK_FALSE(rule_of<RmsPropPlan>("rmsprop").centered);
  CHECK(rule_of<AdagradPlan>("adagrad").eps == 1e-10);
  CHECK(rule_of<LionPlan>("lion").betas == std::array<double, 2>{0.9, 0.99});
  const auto muon = rule_of<MuonPlan>("muon");
  CHECK(muon.momentum == 0.95);
  CHECK(muon.nesterov);
  CHECK(muon.ns_coefficients == std::array<double, 3>{3.4445, -4.775, 2.0315});
  CHECK(muon.ns_steps == 5);
  CHECK(muon.eps == 1e-7);
  CHECK(muon.adjust_lr == MuonPlan::AdjustLr::original);
  CHECK(muon.adamw_match == MuonPlan().adamw_match);
  CHECK(optimizer_of("use='muon', lr=1").weight_decay == 0.1);
}

TEST_CASE("schedule_free_adamw has the defaults of the package schedulefree") {
  const auto schedule_free = rule_of<ScheduleFreeAdamWPlan>("schedule_free_adamw");
  CHECK(schedule_free.betas == std::array<double, 2>{0.9, 0.999});
  CHECK(schedule_free.eps == 1e-8);
  CHECK(schedule_free.r == 0);
  CHECK(schedule_free.weight_lr_power == 2);
  CHECK(optimizer_of("use='schedule_free_adamw', lr=1").weight_decay == 0);
}

TEST_CASE("schedule_free_adamw accepts a warm-up, and refuses schedules that decay, a second average and a beta of 0") {
  const std::string optimizer = "optimizer={use='schedule_free_adamw', lr=1}";
  CHECK(error_of(kShortRunFile, {optimizer, "schedule={warmup_steps=5}"}).empty());
  CHECK(error_of(kShortRunFile, {optimizer, "schedule={use='cosine', warmup_steps=5}"}) ==
        "--set schedule: schedule.use is \"cosine\" together with optimizer.use = \"schedule_free_adamw\", which "
        "averages "
        "weights instead of lowering the learning rate; expected \"constant\", with or without a warm-up");
  CHECK(
      error_of(kShortRunFile, {optimizer, "train.average={use='ema'}"}) ==
      "--set train.average: train.average is set together with optimizer.use = \"schedule_free_adamw\", which averages "
      "the weights itself; remove [train.average]");
  CHECK(error_of(kShortRunFile, {"optimizer={use='schedule_free_adamw', lr=1, betas=[0.0, 0.999]}"})
            .find("optimizer.betas") != std::string::npos);
}

TEST_CASE("nesterov is accepted with momentum and without dampening") {
  CHECK(std::get<SgdPlan>(optimizer_of("use='sgd', lr=1, momentum=0.9, nesterov=true").rule).nesterov);
}

TEST_CASE("parameter groups are read in the order of the file, with their locations") {
  const RunPlan plan =
      plan_of(std::string(kShortRunFile) +
              "[[optimizer.group]]\nmatch = [\"head.*\", \"*.bias\"]\nlr_scale = 10\nweight_decay = 0\n"
              "[[optimizer.group]]\nmatch = [\"*\"]\nfrozen_epochs = 2\n");
  REQUIRE(plan.optimizer.groups.size() == 2);
  const ParameterGroupPlan& head = plan.optimizer.groups[0];
  CHECK(head.match == std::vector<std::string>{"head.*", "*.bias"});
  CHECK(head.lr_scale == 10);
  CHECK(head.weight_decay == 0.0);
  CHECK(head.path == "optimizer.group.0");
  CHECK(head.place.ends_with("digits.toml:20:9"));
  CHECK_FALSE(plan.optimizer.groups[1].weight_decay.has_value());
  CHECK(plan.optimizer.groups[1].frozen_epochs == 2);
}

TEST_CASE("errors in a group have the location in the group") {
  const auto error = [](const std::string& group) {
    return error_of(std::string(kShortRunFile) + "[[optimizer.group]]\n" + group);
  };
  CHECK(error("lr_scale = 2\n") ==
        "digits.toml:19:1: optimizer.group.0.match is missing; expected patterns of parameter names, such as "
        "[\"head.*\", \"*.bias\"]");
  CHECK(error("match = []\n").starts_with("digits.toml:20:9: optimizer.group.0.match is []; expected patterns"));
  CHECK(error("match = [\"*\"]\nfrozen = true\nlr_scale = 2\n")
            .starts_with("digits.toml:21:10: optimizer.group.0.frozen is true together with lr_scale"));
  CHECK(error("match = [\"*\"]\nlr_scale = 0\n") ==
        "digits.toml:21:12: optimizer.group.0.lr_scale is 0; expected a number above 0");
  CHECK(error("match = [\"*\"]\nlr = 0.1\n").starts_with("digits.toml:21:1: optimizer.group.0.lr is not a key of"));
}

TEST_CASE("one_cycle has the defaults of PyTorch, but does not cycle the momentum") {
  const auto one_cycle = shape_of<OneCycleSchedule>("use='one_cycle'");
  CHECK(one_cycle.warmup_fraction == 0.3);
  CHECK(one_cycle.div_factor == 25);
  CHECK(one_cycle.final_div_factor == 1e4);
  CHECK(one_cycle.anneal == OneCycleSchedule::Anneal::cosine);
  CHECK_FALSE(one_cycle.cycle_momentum);
  CHECK(one_cycle.base_momentum == 0.85);
  CHECK(one_cycle.max_momentum == 0.95);
}

TEST_CASE("cycle_momentum requires an optimizer with momentum") {
  const std::string schedule = "schedule={use='one_cycle', cycle_momentum=true}";
  for (const char* optimizer :
       {"use='adam', lr=1", "use='sgd', lr=1, momentum=0.9", "use='lion', lr=1", "use='muon', lr=1"})
    CHECK(error_of(kShortRunFile, {schedule, std::string("optimizer={") + optimizer + "}"}).empty());
  for (const char* optimizer : {"use='adagrad', lr=1", "use='sgd', lr=1", "use='rmsprop', lr=1"})
    CHECK(error_of(kShortRunFile, {schedule, std::string("optimizer={") + optimizer + "}"})
              .find("schedule.cycle_momentum is true, but the optimizer has no momentum") != std::string::npos);
}

TEST_CASE("a length is a number of epochs or steps, a fraction of the run or its rest") {
  CHECK(is(shape_of<CosineSchedule>("use='cosine'").length, Unit::rest, 0));
  CHECK(is(shape_of<CosineSchedule>("use='cosine', length='30 epochs'").length, Unit::epochs, 30));
  CHECK(is(shape_of<CosineSchedule>("use='cosine', length='1 step'").length, Unit::steps, 1));
  CHECK(is(shape_of<CosineSchedule>("use='cosine', length=500").length, Unit::steps, 500));
  CHECK(is(shape_of<CosineSchedule>("use='cosine', length=0.5").length, Unit::run, 0.5));
  CHECK(is(shape_of<ExponentialSchedule>("use='exponential', gamma=0.9").every, Unit::epochs, 1));
  CHECK(is(shape_of<WarmupStableDecaySchedule>("use='warmup_stable_decay'").decay, Unit::run, 0.1));
  const auto multi_step = shape_of<MultiStepSchedule>("use='multi_step', milestones=['3 epochs', 700, 0.9]");
  REQUIRE(multi_step.milestones.size() == 3);
  CHECK(is(multi_step.milestones[0], Unit::epochs, 3));
  CHECK(is(multi_step.milestones[1], Unit::steps, 700));
  CHECK(is(multi_step.milestones[2], Unit::run, 0.9));
}

TEST_CASE("a warm-up is a number of steps or epochs, or a fraction of the run, for any schedule") {
  CHECK(is(warmup_of("use='cosine'"), Unit::run, 0));
  CHECK(is(warmup_of("use='warmup_stable_decay'"), Unit::run, 0.05));
  CHECK(is(warmup_of("use='step', step_size=7, warmup_steps=500"), Unit::steps, 500));
  CHECK(is(warmup_of("use='one_cycle', warmup_steps=0"), Unit::run, 0));
  CHECK(is(warmup_of("warmup=0.05"), Unit::run, 0.05));
  CHECK(is(warmup_of("use='linear', warmup='5 epochs'"), Unit::epochs, 5));
}

TEST_CASE("an invalid length is refused with examples of valid ones") {
  const std::string expected =
      "expected a length such as \"30 epochs\", \"1000 steps\", 1000 (steps) or 0.05 (of the run)";
  for (const char* wrong :
       {"length='30'", "length='5 minutes'", "length=-3", "length=1.5", "length=0", "length=true", "length='0.05'"}) {
    CAPTURE(wrong);
    CHECK(schedule_error(std::string("use='cosine', ") + wrong).find(expected) != std::string::npos);
  }
  CHECK(schedule_error("use='step'") == "--set schedule: schedule.step_size is missing; " + expected);
  CHECK(schedule_error("use='cosine_restarts'") == "--set schedule: schedule.t_0 is missing; " + expected);
  CHECK(schedule_error("use='multi_step', milestones=[7, 'x']").find("schedule.milestones.1 is 'x'; " + expected) !=
        std::string::npos);
  CHECK(schedule_error("use='multi_step', milestones=[]").find("schedule.milestones is []; expected when") !=
        std::string::npos);
}

TEST_CASE("two warm-ups and an invalid number of steps are refused") {
  CHECK(schedule_error("warmup=0.1, warmup_steps=10").find("are both set; expected one of them") != std::string::npos);
  CHECK(schedule_error("warmup_steps=0.1").find("schedule.warmup_steps is 0.1; expected an integer in [0, 1e15]") !=
        std::string::npos);
}

TEST_CASE("reduce_on_plateau has the defaults of PyTorch") {
  const auto plateau = shape_of<PlateauSchedule>("use='reduce_on_plateau'");
  CHECK(plateau.metric == "validation/loss");
  CHECK(plateau.mode == PlateauSchedule::Mode::min);
  CHECK(plateau.factor == 0.1);
  CHECK(plateau.patience == 10);
  CHECK(plateau.threshold == 1e-4);
  CHECK(plateau.threshold_mode == PlateauSchedule::ThresholdMode::relative);
  CHECK(plateau.cooldown == 0);
  CHECK(plateau.min_lr == 0);
  CHECK(plateau.eps == 1e-8);
}

}  // namespace tenon::config
