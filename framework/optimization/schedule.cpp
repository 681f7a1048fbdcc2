#include "framework/optimization/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <variant>
#include <vector>

#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::optimization {
namespace {

using Mode = config::PlateauSchedule::Mode;
using ThresholdMode = config::PlateauSchedule::ThresholdMode;
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

using Shape = std::function<StepRates(int64_t step)>;

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

Plateau::Plateau(const config::PlateauSchedule& plan, double base_lr) : plan_(plan), learning_rate_(base_lr) {
  const double infinity = std::numeric_limits<double>::infinity();
  best_ = plan_.mode == Mode::min ? infinity : -infinity;
}

// The order of operations is PyTorch's, so that roundings are equal.
bool Plateau::is_better(double metric) const {
  const bool is_relative = plan_.threshold_mode == ThresholdMode::relative;
  if (plan_.mode == Mode::min) return metric < (is_relative ? best_ * (1 - plan_.threshold) : best_ - plan_.threshold);
  return metric > (is_relative ? best_ * (plan_.threshold + 1) : best_ + plan_.threshold);
}

void Plateau::observe(double metric) {
  if (is_better(metric)) {
    best_ = metric;
    num_bad_epochs_ = 0;
  } else {
    ++num_bad_epochs_;
  }
  if (cooldown_counter_ > 0) {
    --cooldown_counter_;
    num_bad_epochs_ = 0;
  }
  if (num_bad_epochs_ <= plan_.patience) return;
  const double reduced = std::max(learning_rate_ * plan_.factor, plan_.min_lr);
  if (learning_rate_ - reduced > plan_.eps) learning_rate_ = reduced;
  cooldown_counter_ = plan_.cooldown;
  num_bad_epochs_ = 0;
}

std::map<std::string, double> Plateau::state() const {
  return {{"learning_rate", learning_rate_},
          {"best", best_},
          {"num_bad_epochs", static_cast<double>(num_bad_epochs_)},
          {"cooldown_counter", static_cast<double>(cooldown_counter_)}};
}

void Plateau::load_state(const std::map<std::string, double>& state) {
  const auto read = [&](const char* name) {
    const auto entry = state.find(name);
    if (entry != state.end()) return entry->second;
    throw support::Error(support::ErrorKind::checkpoint,
                         "schedule state: there is no {}; expected the state of reduce_on_plateau; use a "
                         "checkpoint of a run with this schedule",
                         name);
  };
  const double learning_rate = read("learning_rate");
  const double best = read("best");
  const auto num_bad_epochs = static_cast<int64_t>(read("num_bad_epochs"));
  cooldown_counter_ = static_cast<int64_t>(read("cooldown_counter"));
  learning_rate_ = learning_rate;
  best_ = best;
  num_bad_epochs_ = num_bad_epochs;
}

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
    shape_ = std::visit(MakeShape{base_lr, run, rest}, plan.shape);
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
