#include "framework/pipeline/checks/check_lengths.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <variant>

#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

using config::Period;
using config::ScheduleLength;

constexpr double kMostCounted = 1e18;  // larger than any run

// A setting with the point that the run must reach for it to matter.
struct Length {
  std::string place;
  std::string key;     // "schedule.warmup"
  std::string value;   // in the run file's syntax
  int64_t count;       // the point, in units from the beginning
  bool is_beginning;   // whether something begins after it, which needs at least one more unit
  std::string effect;  // on a run that is too short
};

// Lengths that are compared with the same number.
struct Scope {
  std::string name;  // "the run"
  std::string unit;  // "step"
  std::string units;
  int64_t limit;
  std::string fix;
};

std::string quote(const Period& period) { return config::to_toml(config::to_string(period)); }

int64_t to_count(double count) { return static_cast<int64_t>(std::round(std::min(count, kMostCounted))); }

// The first multiple of `every` that is larger than `start`.
int64_t next_multiple(int64_t start, int64_t every) { return (start / every + 1) * every; }

class Lengths {
 public:
  explicit Lengths(const Training& training)
      : plan_(*training.plan),
        run_{training.total_steps, training.steps_per_epoch},
        warmup_(optimization::count_steps(plan_.schedule.warmup, run_, run_.total_steps, 0)) {}

  // The table: a new setting with a length needs a line here.
  std::vector<Length> in_steps() {
    const std::string file = plan_.file.string();
    add_schedule();
    add_average();
    for (size_t i = 0; i < plan_.data.scheduled_train.size(); ++i) {
      const config::ScheduledDataset& change = plan_.data.scheduled_train[i];
      add(change.place, "data.train.change." + std::to_string(i) + ".at_epoch", std::to_string(change.at_epoch),
          epochs(static_cast<double>(change.at_epoch - 1)), true, "the data do not change");
    }
    for (const config::ParameterGroupPlan& group : plan_.optimizer.groups)
      if (group.frozen_epochs > 0)
        add(group.place, group.path + ".frozen_epochs", std::to_string(group.frozen_epochs),
            epochs(static_cast<double>(group.frozen_epochs)), true, "its parameters are never trained");
    // One epoch is the default, also of a run that is shorter.
    add_interval(file, "validation.every", plan_.validation.every, "the only validation is that of the end");
    add_interval(file, "checkpoint.every", plan_.checkpoint.every, "the only checkpoint is that of the end");
    add_interval(file, "log.histograms", plan_.log.histograms, "there are no histograms");
    for (size_t i = 0; i < plan_.callbacks.size(); ++i) {
      const config::CallbackPlan& callback = plan_.callbacks[i];
      const std::string key = "callback." + std::to_string(i);
      const std::string effect = callback.use + " gets no events of steps or epochs";
      if (const auto begin = steps(callback.filter.after))
        add(callback.place, key + ".after", quote(callback.filter.after), *begin, true, effect);
      // The events of an epoch begin with its first step.
      const Period& every = callback.filter.every;
      if (every.unit == Period::Unit::epochs)
        add(callback.place, key + ".every", quote(every), epochs(every.count - 1), true, effect);
      else if (const auto first = steps(every))
        add(callback.place, key + ".every", quote(every), *first, false, effect);
    }
    return std::move(lengths_);
  }

  // The number of validations, as far as it is known before the run; -1 otherwise.
  int64_t validations() const {
    const Period& every = plan_.validation.every;
    const auto interval = steps(every);
    if (!interval || plan_.data.validation.empty()) return -1;
    int64_t count = run_.total_steps / *interval;
    bool has_last = run_.total_steps % *interval == 0;
    if (every.is_fraction()) {
      const auto parts = std::min(static_cast<int64_t>(1 / every.count + 1e-9), run_.steps_per_epoch);
      count = run_.total_steps / run_.steps_per_epoch * parts + run_.total_steps % run_.steps_per_epoch / *interval;
      has_last = run_.total_steps % run_.steps_per_epoch == 0;
    }
    // The end of the run always validates.
    return count + (has_last ? 0 : 1) + (plan_.validation.at_start ? 1 : 0);
  }

  // Patience is reached by values that are not better than the first.
  std::vector<Length> in_validations() {
    const auto is_validated = [](const std::string& metric) { return metric.starts_with("validation"); };
    const auto* const plateau = std::get_if<config::PlateauSchedule>(&plan_.schedule.shape);
    if (plateau && is_validated(plateau->metric))
      add(plan_.schedule.place, "schedule.patience", std::to_string(plateau->patience), plateau->patience + 2, false,
          "the learning rate never falls");
    for (size_t i = 0; i < plan_.callbacks.size(); ++i) {
      const config::CallbackPlan& callback = plan_.callbacks[i];
      const auto monitor = callback.params.find("monitor"), patience = callback.params.find("patience");
      if (monitor == callback.params.end() || patience == callback.params.end()) continue;
      const auto* const metric = std::get_if<std::string>(&monitor->second);
      const auto* const count = std::get_if<int64_t>(&patience->second);
      if (metric && count && is_validated(*metric))
        add(callback.place, "callback." + std::to_string(i) + ".params.patience", std::to_string(*count), *count + 1,
            false, callback.use + " never acts");
    }
    return std::move(lengths_);
  }

 private:
  void add(const std::string& place, const std::string& key, const std::string& value, int64_t count, bool is_beginning,
           const std::string& effect) {
    lengths_.push_back({place, key, value, count, is_beginning, effect});
  }

  int64_t epochs(double count) const { return to_count(count * static_cast<double>(run_.steps_per_epoch)); }

  // None for a time, and for never.
  std::optional<int64_t> steps(const Period& period) const {
    if (period.unit == Period::Unit::steps) return to_count(period.count);
    if (period.unit == Period::Unit::epochs) return std::max<int64_t>(epochs(period.count), 1);
    return std::nullopt;
  }

  void add_interval(const std::string& place, const std::string& key, const Period& every, const std::string& effect) {
    const bool is_default = every.unit == Period::Unit::epochs && every.count == 1;
    const auto first = steps(every);
    if (first && !is_default) add(place, key, quote(every), *first, false, effect);
  }

  // `length`: from the end of the warm-up.
  void add_schedule_length(const std::string& key, const ScheduleLength& length, bool is_beginning,
                           const std::string& effect) {
    const int64_t rest = std::max<int64_t>(run_.total_steps - warmup_, 1);
    const std::string value = config::to_toml(config::to_value(length));
    add(plan_.schedule.place, "schedule." + key, warmup_ > 0 ? value + " after the warm-up" : value,
        warmup_ + optimization::count_steps(length, run_, rest, 1), is_beginning, effect);
  }

  void add_schedule() {
    if (warmup_ > 0)
      add(plan_.schedule.place, "schedule.warmup", config::to_toml(config::to_value(plan_.schedule.warmup)), warmup_,
          false, "the learning rate never reaches optimizer.lr");
    if (warmup_ >= run_.total_steps) return;  // the rest of the schedule follows the warm-up
    const std::string never_falls = "the learning rate never falls", no_end = "the learning rate ends too high";
    const auto add_shape = [&](const auto& shape) {
      using Shape = std::decay_t<decltype(shape)>;
      if constexpr (requires { shape.length; }) add_schedule_length("length", shape.length, false, no_end);
      if constexpr (std::is_same_v<Shape, config::CosineRestartsSchedule>)
        add_schedule_length("t_0", shape.t_0, true, "the learning rate never restarts");
      if constexpr (std::is_same_v<Shape, config::StepSchedule>)
        add_schedule_length("step_size", shape.step_size, true, never_falls);
      if constexpr (std::is_same_v<Shape, config::ExponentialSchedule>)
        add_schedule_length("every", shape.every, false, "the learning rate never falls by schedule.gamma");
      if constexpr (std::is_same_v<Shape, config::WarmupStableDecaySchedule>)
        add_schedule_length("decay", shape.decay, false, "the learning rate is never stable");
      if constexpr (std::is_same_v<Shape, config::MultiStepSchedule>)
        for (size_t i = 0; i < shape.milestones.size(); ++i)
          add_schedule_length("milestones." + std::to_string(i), shape.milestones[i], true,
                              "the learning rate does not fall there");
    };
    std::visit(add_shape, plan_.schedule.shape);
  }

  // The first average is that of the first multiple of `every` after `start`.
  void add_average() {
    if (!plan_.train.average) return;
    const std::string effect = "the weights are never averaged";
    const config::AveragePlan& average = *plan_.train.average;
    const Period &start = average.start, &every = average.every;
    const int64_t begin = steps(start).value_or(0);
    const double interval_steps = static_cast<double>(steps(every).value_or(1));
    if (average.kind == config::AveragePlan::Kind::ema && !average.warm_up && begin < run_.total_steps) {
      const double half_life = std::log(0.5) / std::log(average.decay);  // infinite for a decay of 1
      add(plan_.file.string(), "train.average.decay", config::to_toml(average.decay),
          to_count(static_cast<double>(begin) + half_life * interval_steps), false,
          "more than half of the average are the weights that it begins with");
    }
    if (begin >= run_.total_steps)
      add(plan_.file.string(), "train.average.start", quote(start), begin, true, effect);
    else if (const auto interval = steps(every))
      add(plan_.file.string(), "train.average.every", quote(every), next_multiple(begin, *interval), false, effect);
  }

  const config::RunPlan& plan_;
  optimization::RunLength run_;
  int64_t warmup_;
  std::vector<Length> lengths_;
};

void report(const std::vector<Length>& lengths, const Scope& scope, std::vector<std::string>& warnings) {
  const auto print = [&](int64_t count) { return support::format_count(count, scope.unit, scope.units); };
  for (const Length& length : lengths) {
    if (length.count < scope.limit || (length.count == scope.limit && !length.is_beginning)) continue;
    warnings.push_back(length.place + ": " + length.key + " is " + length.value + " (" + print(length.count) +
                       "), but " + scope.name + " has " + print(scope.limit) + ", so " + length.effect + "; expected " +
                       (length.is_beginning ? "fewer than " : "at most ") + print(scope.limit) + ": lower " +
                       length.key + scope.fix);
  }
}

}  // namespace

std::vector<std::string> check_lengths(const Training& training) {
  const config::RunPlan& plan = *training.plan;
  std::vector<std::string> warnings;
  const std::string longer = plan.train.epochs > 0 ? ", or raise train.epochs" : ", or raise train.steps";
  report(Lengths(training).in_steps(), {"the run", "step", "steps", training.total_steps, longer}, warnings);
  if (const int64_t validations = Lengths(training).validations(); validations >= 0)
    report(Lengths(training).in_validations(), {"the run", "validation", "validations", validations, longer}, warnings);
  const int64_t batches = training.train->feed.batches();
  report({{plan.file.string(), "train.accumulate", std::to_string(plan.train.accumulate), plan.train.accumulate, false,
           "each epoch is one step of " + support::format_count(batches, "batch", "batches")}},
         {"an epoch", "batch", "batches", batches, ""}, warnings);
  return warnings;
}

}  // namespace tenon::pipeline
