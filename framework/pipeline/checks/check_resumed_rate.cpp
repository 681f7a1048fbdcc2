#include "framework/pipeline/checks/check_resumed_rate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <variant>

#include "framework/config/plan/run_plan.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace {

bool is_same_rate(double a, double b) {
  constexpr double kRounding = 1e-12;  // of the arithmetic of a schedule, relative
  return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

// The end of the warning: how to continue with this schedule. Empty if only a changed key can have raised the rate.
std::string suggest_continuation(const config::SchedulePlan& plan, int64_t step) {
  return std::visit(
      [&]<class Shape>(const Shape& shape) -> std::string {
        if constexpr (std::is_same_v<Shape, config::OneCycleSchedule>)
          return "; a cycle spans the whole run: for another one, start a new run with model.weights";
        if constexpr (std::is_same_v<Shape, config::WarmupStableDecaySchedule>)
          return "; to extend the stable phase, resume from a checkpoint before the decay (checkpoint.keep)";
        if constexpr (requires { shape.length; })
          return fmt::format(
              "; to stay at the end of the schedule in a longer run, set schedule.length to the steps that the run had "
              "after its warm-up (\"{} steps\" without one)",
              step);
        return "";
      },
      plan.shape);
}

}  // namespace

void report_resumed_rate(const Training& training, int64_t schedule_step, int64_t step, double last_rate) {
  if (training.schedule.monitored_metric()) return;  // it reduces the rate by itself
  const double next = training.schedule.rates(schedule_step).learning_rate;
  if (is_same_rate(training.schedule.rates(schedule_step - 1).learning_rate, last_rate) ||
      is_same_rate(next, last_rate))
    return;
  const std::string rates =
      fmt::format("the learning rate was {:.4g} in step {} and is {:.4g} in step {}", last_rate, step, next, step + 1);
  if (next < last_rate)
    support::log_info(rates);
  else
    support::log_warning("{}: {}, because the length of the run, the schedule or optimizer.lr has changed{}",
                         training.plan->schedule.place, rates, suggest_continuation(training.plan->schedule, step));
}

}  // namespace tenon::pipeline
