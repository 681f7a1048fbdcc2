#include "framework/optimization/schedule.h"

#include <algorithm>
#include <variant>

#include "framework/support/diagnostics/check.h"

namespace tenon::optimization {

Schedule Schedule::make(const config::SchedulePlan& plan, double base_lr, const RunLength& run) {
  TENON_CHECK(run.total_steps >= 1, "total_steps " << run.total_steps);
  TENON_CHECK(run.steps_per_epoch >= 1, "steps_per_epoch " << run.steps_per_epoch);
  return Schedule(plan, base_lr, run);
}

Schedule::Schedule(const config::SchedulePlan& plan, double base_lr, const RunLength& run)
    : warmup_steps_(count_steps(plan.warmup, run, run.total_steps, 0)), warmup_start_factor_(plan.warmup_start_factor) {
  const int64_t rest = std::max<int64_t>(run.total_steps - warmup_steps_, 1);
  if (const auto* plateau = std::get_if<config::PlateauSchedule>(&plan.shape))
    plateau_.emplace(*plateau, base_lr);
  else
    shape_ = make_shape(plan, base_lr, run, rest);
}

StepRates Schedule::rates(int64_t step) const {
  TENON_CHECK(step >= 0, "step " << step);
  const bool is_warm = step >= warmup_steps_;
  StepRates rates = plateau_ ? StepRates{plateau_->learning_rate()} : shape_(is_warm ? step - warmup_steps_ : 0);
  if (is_warm) return rates;
  const double done = static_cast<double>(step) / static_cast<double>(warmup_steps_);
  rates.learning_rate *= warmup_start_factor_ + (1 - warmup_start_factor_) * done;
  return rates;
}

void Schedule::observe(double metric) {
  TENON_CHECK(plateau_, "the schedule depends only on the step");
  plateau_->observe(metric);
}

std::map<std::string, double> Schedule::state() const {
  return plateau_ ? plateau_->state() : std::map<std::string, double>();
}

void Schedule::load_state(const std::map<std::string, double>& state) {
  if (plateau_) plateau_->load_state(state);
}

}  // namespace tenon::optimization
