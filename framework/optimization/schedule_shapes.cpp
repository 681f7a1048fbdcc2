#include "framework/optimization/schedule_shapes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "framework/support/diagnostics/check.h"

namespace tenon::optimization {
namespace {

using config::OneCycleSchedule;
using Unit = config::ScheduleLength::Unit;

double part_done(int64_t step, int64_t length) {
  return static_cast<double>(std::min(step, length)) / static_cast<double>(length);
}

// From `start` to `end` along half a cosine. The order of operations is PyTorch's, so that roundings are equal.
double half_cosine(double start, double end, int64_t step, int64_t length) {
  const double cosine = std::cos(std::numbers::pi * static_cast<double>(step) / static_cast<double>(length));
  return end + (start - end) * (1 + cosine) / 2;
}

// From `start` at progress 0 to `end` at progress 1. The order of operations is PyTorch's.
double anneal(OneCycleSchedule::Anneal how, double start, double end, double progress) {
  if (how == OneCycleSchedule::Anneal::linear) return (end - start) * progress + start;
  const double cosine = std::cos(std::numbers::pi * progress) + 1;
  return end + (start - end) / 2.0 * cosine;
}

StepRates one_cycle(const OneCycleSchedule& plan, double peak, int64_t total_steps, int64_t step) {
  const double first = peak / plan.div_factor;
  const double last = first / plan.final_div_factor;
  const auto rates = [&](double from, double to, double from_momentum, double to_momentum, double progress) {
    StepRates rates{anneal(plan.anneal, from, to, progress)};
    if (plan.cycle_momentum) rates.momentum = anneal(plan.anneal, from_momentum, to_momentum, progress);
    return rates;
  };
  const double position = static_cast<double>(std::min(step, total_steps - 1));
  const double warmup_end = plan.warmup_fraction * static_cast<double>(total_steps) - 1;
  if (position <= warmup_end) {
    const double progress = warmup_end > 0 ? position / warmup_end : 1;
    return rates(first, peak, plan.max_momentum, plan.base_momentum, progress);
  }
  // warmup_end is in [-1, position), so the denominator is positive.
  const double progress = (position - warmup_end) / (static_cast<double>(total_steps - 1) - warmup_end);
  return rates(peak, last, plan.base_momentum, plan.max_momentum, progress);
}

struct Cycle {
  int64_t step;  // within the cycle
  int64_t length;
};

// Finds the cycle of a step. Each cycle is t_mult times as long as the previous one.
Cycle find_cycle(int64_t step, int64_t t_0, int64_t t_mult) {
  if (t_mult == 1) return {step % t_0, t_0};
  int64_t length = t_0;
  while (step >= length) {
    step -= length;
    length *= t_mult;
  }
  return {step, length};
}

double stable_decay(const config::WarmupStableDecaySchedule& plan, int64_t step, int64_t length) {
  using Decay = config::WarmupStableDecaySchedule::Shape;
  if (plan.shape == Decay::cosine) return half_cosine(1, plan.end_factor, std::min(step, length), length);
  const double done = part_done(step, length);
  return 1 + (plan.end_factor - 1) * (plan.shape == Decay::linear ? done : std::sqrt(done));
}

struct MakeShape {
  double base_lr;
  RunLength run;
  int64_t rest;

  int64_t steps(const config::ScheduleLength& length) const { return count_steps(length, run, rest, 1); }

  Shape operator()(const config::ConstantSchedule&) const {
    return [lr = base_lr](int64_t) { return StepRates{lr}; };
  }
  Shape operator()(const config::LinearSchedule& plan) const {
    return [lr = base_lr, end = plan.end_factor, length = steps(plan.length)](int64_t step) {
      return StepRates{lr * (1 + (end - 1) * part_done(step, length))};
    };
  }
  Shape operator()(const config::CosineSchedule& plan) const {
    return [lr = base_lr, eta_min = plan.eta_min, length = steps(plan.length)](int64_t step) {
      return StepRates{half_cosine(lr, eta_min, std::min(step, length), length)};
    };
  }
  Shape operator()(const config::CosineRestartsSchedule& plan) const {
    return [lr = base_lr, plan, t_0 = steps(plan.t_0)](int64_t step) {
      const Cycle cycle = find_cycle(step, t_0, plan.t_mult);
      return StepRates{half_cosine(lr, plan.eta_min, cycle.step, cycle.length)};
    };
  }
  Shape operator()(const OneCycleSchedule& plan) const {
    return [lr = base_lr, plan, length = rest](int64_t step) { return one_cycle(plan, lr, length, step); };
  }
  Shape operator()(const config::PolynomialSchedule& plan) const {
    return [lr = base_lr, power = plan.power, length = steps(plan.length)](int64_t step) {
      return StepRates{lr * std::pow(1 - part_done(step, length), power)};
    };
  }
  Shape operator()(const config::StepSchedule& plan) const {
    return [lr = base_lr, gamma = plan.gamma, size = steps(plan.step_size)](int64_t step) {
      return StepRates{lr * std::pow(gamma, static_cast<double>(step / size))};
    };
  }
  Shape operator()(const config::MultiStepSchedule& plan) const {
    std::vector<int64_t> milestones;
    for (const config::ScheduleLength& milestone : plan.milestones) milestones.push_back(steps(milestone));
    std::sort(milestones.begin(), milestones.end());
    return [lr = base_lr, gamma = plan.gamma, milestones](int64_t step) {
      const auto passed = std::upper_bound(milestones.begin(), milestones.end(), step) - milestones.begin();
      return StepRates{lr * std::pow(gamma, static_cast<double>(passed))};
    };
  }
  Shape operator()(const config::ExponentialSchedule& plan) const {
    return [lr = base_lr, gamma = plan.gamma, every = steps(plan.every)](int64_t step) {
      return StepRates{lr * std::pow(gamma, static_cast<double>(step) / static_cast<double>(every))};
    };
  }
  Shape operator()(const config::WarmupStableDecaySchedule& plan) const {
    const int64_t length = std::min(steps(plan.decay), rest);
    return [lr = base_lr, plan, length, begin = rest - length](int64_t step) {
      return StepRates{step < begin ? lr : lr * stable_decay(plan, step - begin, length)};
    };
  }
  Shape operator()(const config::PlateauSchedule&) const { TENON_CHECK(false, "a plateau schedule has a state"); }
};

}  // namespace

int64_t count_steps(const config::ScheduleLength& length, const RunLength& run, int64_t rest, int64_t least) {
  double steps = static_cast<double>(rest);
  if (length.unit == Unit::run) steps = length.count * static_cast<double>(run.total_steps);
  if (length.unit == Unit::epochs) steps = length.count * static_cast<double>(run.steps_per_epoch);
  if (length.unit == Unit::steps) steps = length.count;
  constexpr double kMaxCount = 1e18;  // larger than any run
  return std::max(static_cast<int64_t>(std::round(std::min(steps, kMaxCount))), least);
}

Shape make_shape(const config::SchedulePlan& plan, double base_lr, const RunLength& run, int64_t rest) {
  TENON_CHECK(rest >= 1, "rest " << rest);
  return std::visit(MakeShape{base_lr, run, rest}, plan.shape);
}

}  // namespace tenon::optimization
