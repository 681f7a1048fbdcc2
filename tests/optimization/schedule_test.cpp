#include "framework/optimization/schedule.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "framework/support/diagnostics/error.h"

namespace tenon::optimization::schedule_test {
namespace {

using config::CosineSchedule;
using config::OneCycleSchedule;
using config::PlateauSchedule;
using Anneal = OneCycleSchedule::Anneal;
using Decay = config::WarmupStableDecaySchedule::Shape;
using Mode = PlateauSchedule::Mode;
using ThresholdMode = PlateauSchedule::ThresholdMode;
using Unit = config::ScheduleLength::Unit;

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

config::SchedulePlan plan_of(decltype(config::SchedulePlan::shape) shape, const config::ScheduleLength& warmup,
                             double warmup_start_factor) {
  config::SchedulePlan plan;
  plan.shape = std::move(shape);
  plan.warmup = warmup;
  plan.warmup_start_factor = warmup_start_factor;
  return plan;
}

PlateauSchedule plateau_of(Mode mode, double factor, int64_t patience, double threshold, ThresholdMode threshold_mode,
                           int64_t cooldown, double min_lr, double eps) {
  return {"validation/loss", mode, factor, patience, threshold, threshold_mode, cooldown, min_lr, eps};
}

struct Reference {
  config::SchedulePlan plan;
  double base_lr;
  RunLength run;
  std::vector<double> rates;
  std::vector<double> momenta;  // empty: not cycled
};

const std::vector<Reference>& references() {
  static const std::vector<Reference> references = {
#include "tests/parity/reference/schedules.inc"
  };
  return references;
}

struct PlateauReference {
  PlateauSchedule plan;
  double base_lr;
  std::vector<double> metrics;
  std::vector<double> rates;
};

const std::vector<PlateauReference>& plateaus() {
  static const std::vector<PlateauReference> references = {
#include "tests/parity/reference/plateaus.inc"
  };
  return references;
}

Schedule make(const Reference& reference) { return Schedule::make(reference.plan, reference.base_lr, reference.run); }

// PyTorch computes most rates from the previous one and so accumulates one rounding per step. For OneCycleLR and the
// cosine with restarts the formula is the same.
TEST_CASE("every schedule gives the learning rates and momenta of PyTorch's schedulers") {
  REQUIRE(references().size() > 90);
  for (size_t i = 0; i < references().size(); ++i) {
    const Reference& reference = references()[i];
    const Schedule schedule = make(reference);
    CAPTURE(i);
    REQUIRE(static_cast<int64_t>(reference.rates.size()) == reference.run.total_steps);
    for (size_t step = 0; step < reference.rates.size(); ++step) {
      if (std::isnan(reference.rates[step])) continue;
      CAPTURE(step);
      const StepRates rates = schedule.rates(static_cast<int64_t>(step));
      const bool is_one_cycle = std::holds_alternative<OneCycleSchedule>(reference.plan.shape);
      const double tolerance = is_one_cycle ? 1e-15 * reference.base_lr : 1e-12 * reference.rates[step];
      CHECK(std::abs(rates.learning_rate - reference.rates[step]) <= tolerance);
      REQUIRE(rates.momentum.has_value() == !reference.momenta.empty());
      if (rates.momentum) CHECK(std::abs(*rates.momentum - reference.momenta[step]) <= 1e-15);
    }
  }
}

TEST_CASE("a one-cycle rise of a single step, where PyTorch divides by zero, is at the peak") {
  int found = 0;
  for (const Reference& reference : references()) {
    for (size_t step = 0; step < reference.rates.size(); ++step) {
      if (!std::isnan(reference.rates[step])) continue;
      ++found;
      CHECK(step == 0);
      CHECK(make(reference).rates(0).learning_rate == reference.base_lr);
    }
  }
  CHECK(found > 0);
}

TEST_CASE("reduce_on_plateau reduces the rate like PyTorch's ReduceLROnPlateau") {
  REQUIRE(plateaus().size() == 6);
  for (size_t i = 0; i < plateaus().size(); ++i) {
    const PlateauReference& reference = plateaus()[i];
    CAPTURE(i);
    Schedule schedule = Schedule::make({reference.plan}, reference.base_lr, {100, 10});
    REQUIRE(schedule.monitored_metric() != nullptr);
    CHECK(*schedule.monitored_metric() == "validation/loss");
    for (size_t k = 0; k < reference.metrics.size(); ++k) {
      schedule.observe(reference.metrics[k]);
      CAPTURE(k);
      CHECK(schedule.rates(3).learning_rate == reference.rates[k]);
    }
    CHECK(reference.rates.back() < reference.base_lr);
  }
}

TEST_CASE("a resumed plateau continues like the saved one") {
  const PlateauReference& reference = plateaus().at(2);
  Schedule saved = Schedule::make({reference.plan}, reference.base_lr, {100, 10});
  Schedule resumed = Schedule::make({reference.plan}, reference.base_lr, {100, 10});
  size_t k = 0;
  for (; k < 10; ++k) saved.observe(reference.metrics[k]);
  resumed.load_state(saved.state());
  CHECK(resumed.state() == saved.state());
  for (; k < reference.metrics.size(); ++k) {
    resumed.observe(reference.metrics[k]);
    CHECK(resumed.rates(0).learning_rate == reference.rates[k]);
  }
}

TEST_CASE("a state without a plateau's numbers is refused, and other schedules have no state") {
  Schedule plateau = Schedule::make({PlateauSchedule{}}, 0.1, {100, 10});
  CHECK_THROWS_WITH_AS(plateau.load_state({{"learning_rate", 0.1}}),
                       "schedule state: there is no best; expected the state of reduce_on_plateau; use a checkpoint of "
                       "a run with this schedule",
                       support::Error);
  const Schedule constant = Schedule::make({}, 0.1, {100, 10});
  CHECK(constant.monitored_metric() == nullptr);
  CHECK(constant.state().empty());
}

TEST_CASE("a warm-up also applies to the rate of a plateau") {
  config::SchedulePlan plan{PlateauSchedule{.patience = 0}, {Unit::steps, 4}, 0.5, {}};
  Schedule schedule = Schedule::make(plan, 0.1, {100, 10});
  CHECK(schedule.rates(0).learning_rate == doctest::Approx(0.05));
  schedule.observe(1);
  schedule.observe(1);
  CHECK(schedule.rates(2).learning_rate == doctest::Approx(0.0075));
  CHECK(schedule.rates(4).learning_rate == doctest::Approx(0.01));
}

TEST_CASE("one-cycle keeps the last rate after the end of the run") {
  const Schedule schedule = Schedule::make({OneCycleSchedule{}}, 0.1, {10, 5});
  CHECK(schedule.rates(9).learning_rate == doctest::Approx(0.1 / 25 / 1e4));
  CHECK(schedule.rates(10).learning_rate == schedule.rates(9).learning_rate);
  CHECK(schedule.rates(1'000'000).learning_rate == schedule.rates(9).learning_rate);
}

TEST_CASE("a cosine shorter than the run stays at its final rate") {
  const Schedule schedule = Schedule::make({CosineSchedule{0.01, {Unit::epochs, 2}}}, 0.1, {100, 5});
  CHECK(schedule.rates(10).learning_rate == doctest::Approx(0.01));
  CHECK(schedule.rates(15).learning_rate == schedule.rates(10).learning_rate);
}

TEST_CASE("a decay longer than the steps after the warm-up starts at the end of the warm-up") {
  const config::WarmupStableDecaySchedule decay{{Unit::run, 1}, Decay::linear, 0};
  const Schedule schedule = Schedule::make({decay, {Unit::steps, 20}}, 0.1, {100, 10});
  CHECK(schedule.rates(20).learning_rate == doctest::Approx(0.1));
  CHECK(schedule.rates(60).learning_rate == doctest::Approx(0.05));
}

TEST_CASE("lengths are parts of the run, epochs or steps, in whole steps") {
  const RunLength run{1000, 30};
  CHECK(count_steps({}, run, 900, 1) == 900);
  CHECK(count_steps({Unit::run, 0.0505}, run, 900, 1) == 51);
  CHECK(count_steps({Unit::epochs, 3}, run, 900, 1) == 90);
  CHECK(count_steps({Unit::steps, 7}, run, 900, 1) == 7);
  CHECK(count_steps({Unit::run, 0}, run, 900, 0) == 0);
  CHECK(count_steps({Unit::run, 0.0001}, run, 900, 1) == 1);
}

TEST_CASE("the constant schedule gives the base rate at every step") {
  const Schedule schedule = Schedule::make({}, 0.05, {3, 1});
  for (const int64_t step : {0, 1, 2, 3, 100}) CHECK(schedule.rates(step).learning_rate == 0.05);
}

TEST_CASE("a schedule without steps and a step before the first are refused") {
  CHECK_THROWS_AS(Schedule::make({}, 0.05, {0, 1}), support::Error);
  CHECK_THROWS_AS(Schedule::make({}, 0.05, {3, 1}).rates(-1), support::Error);
}

}  // namespace
}  // namespace tenon::optimization::schedule_test
