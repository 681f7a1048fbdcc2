#include "framework/optimization/schedule.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "framework/support/error.h"

namespace tenon::optimization {
namespace {

using config::ConstantSchedule;
using config::OneCycleSchedule;
using Anneal = OneCycleSchedule::Anneal;

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

struct Reference {
  int64_t total_steps;
  double warmup_fraction;
  Anneal anneal;
  double peak;
  double div_factor;
  double final_div_factor;
  std::vector<double> rates;
};

const std::vector<Reference>& references() {
  static const std::vector<Reference> references = {
#include "tests/parity/reference/schedules.inc"
  };
  return references;
}

Schedule make(const Reference& reference) {
  const OneCycleSchedule plan{reference.warmup_fraction, reference.div_factor, reference.final_div_factor,
                              reference.anneal};
  return Schedule::make(plan, reference.peak, reference.total_steps);
}

TEST_CASE("one-cycle gives the learning rates of PyTorch's OneCycleLR") {
  REQUIRE(references().size() > 60);
  for (const Reference& reference : references()) {
    const Schedule schedule = make(reference);
    REQUIRE(static_cast<int64_t>(reference.rates.size()) == reference.total_steps);
    for (int64_t step = 0; step < reference.total_steps; ++step) {
      const double expected = reference.rates[static_cast<size_t>(step)];
      if (std::isnan(expected)) continue;
      CAPTURE(reference.total_steps);
      CAPTURE(reference.warmup_fraction);
      CAPTURE(step);
      // The cosine may differ by a rounding from one C library to the next.
      CHECK(std::abs(schedule.learning_rate(step) - expected) <= 1e-15 * reference.peak);
    }
  }
}

TEST_CASE("where PyTorch divides by zero, a warm-up of one step, one-cycle is at its peak") {
  int found = 0;
  for (const Reference& reference : references()) {
    for (int64_t step = 0; step < reference.total_steps; ++step) {
      if (!std::isnan(reference.rates[static_cast<size_t>(step)])) continue;
      ++found;
      CHECK(step == 0);
      CHECK(make(reference).learning_rate(step) == reference.peak);
    }
  }
  CHECK(found > 0);
}

TEST_CASE("one-cycle keeps the last step's rate after the run's end") {
  const Schedule schedule = Schedule::make(OneCycleSchedule{0.3, 25, 1e4, Anneal::cosine}, 0.1, 10);
  CHECK(schedule.learning_rate(9) == doctest::Approx(0.1 / 25 / 1e4));
  CHECK(schedule.learning_rate(10) == schedule.learning_rate(9));
  CHECK(schedule.learning_rate(1'000'000) == schedule.learning_rate(9));
}

TEST_CASE("the constant schedule gives the base rate at every step") {
  const Schedule schedule = Schedule::make(ConstantSchedule{}, 0.05, 3);
  for (const int64_t step : {0, 1, 2, 3, 100}) CHECK(schedule.learning_rate(step) == 0.05);
}

TEST_CASE("a schedule without steps and a step before the first are refused") {
  CHECK_THROWS_AS(Schedule::make(ConstantSchedule{}, 0.05, 0), support::Error);
  CHECK_THROWS_AS(Schedule::make(ConstantSchedule{}, 0.05, 3).learning_rate(-1), support::Error);
}

}  // namespace
}  // namespace tenon::optimization
