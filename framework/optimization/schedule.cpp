#include "framework/optimization/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

#include "framework/support/check.h"

namespace tenon::optimization {
namespace {

using config::OneCycleSchedule;

// From `start` at progress 0 to `end` at progress 1. The order of operations is PyTorch's, for equal roundings.
double anneal(OneCycleSchedule::Anneal how, double start, double end, double progress) {
  if (how == OneCycleSchedule::Anneal::linear) return (end - start) * progress + start;
  const double cosine = std::cos(std::numbers::pi * progress) + 1;
  return end + (start - end) / 2.0 * cosine;
}

double one_cycle(const OneCycleSchedule& plan, double peak, int64_t total_steps, int64_t step) {
  const double first = peak / plan.div_factor;
  const double last = first / plan.final_div_factor;
  const double position = static_cast<double>(step);
  const double warmup_end = plan.warmup_fraction * static_cast<double>(total_steps) - 1;
  if (position <= warmup_end) {
    const double progress = warmup_end > 0 ? position / warmup_end : 1;
    return anneal(plan.anneal, first, peak, progress);
  }
  // warmup_end lies in [-1, position), so that the denominator is above zero.
  const double progress = (position - warmup_end) / (static_cast<double>(total_steps - 1) - warmup_end);
  return anneal(plan.anneal, peak, last, progress);
}

}  // namespace

Schedule Schedule::make(const config::SchedulePlan& plan, double base_lr, int64_t total_steps) {
  TENON_CHECK(total_steps >= 1, "total_steps " << total_steps);
  return Schedule(plan, base_lr, total_steps);
}

Schedule::Schedule(const config::SchedulePlan& plan, double base_lr, int64_t total_steps)
    : plan_(plan), base_lr_(base_lr), total_steps_(total_steps) {}

double Schedule::learning_rate(int64_t step) const {
  TENON_CHECK(step >= 0, "step " << step);
  if (const auto* plan = std::get_if<OneCycleSchedule>(&plan_))
    return one_cycle(*plan, base_lr_, total_steps_, std::min(step, total_steps_ - 1));
  return base_lr_;
}

}  // namespace tenon::optimization
