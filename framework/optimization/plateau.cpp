#include "framework/optimization/plateau.h"

#include <algorithm>
#include <limits>

#include "framework/support/diagnostics/error.h"

namespace tenon::optimization {

using Mode = config::PlateauSchedule::Mode;
using ThresholdMode = config::PlateauSchedule::ThresholdMode;

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
  reduce();
  cooldown_counter_ = plan_.cooldown;
  num_bad_epochs_ = 0;
}

void Plateau::reduce() {
  const double reduced = std::max(learning_rate_ * plan_.factor, plan_.min_lr);
  if (learning_rate_ - reduced > plan_.eps) learning_rate_ = reduced;
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
    throw support::Error(support::ErrorKind::checkpoint, std::string("schedule state: there is no ") + name +
                                                             "; expected the state of reduce_on_plateau; use a "
                                                             "checkpoint of a run with this schedule");
  };
  const double learning_rate = read("learning_rate");
  const double best = read("best");
  const auto num_bad_epochs = static_cast<int64_t>(read("num_bad_epochs"));
  cooldown_counter_ = static_cast<int64_t>(read("cooldown_counter"));
  learning_rate_ = learning_rate;
  best_ = best;
  num_bad_epochs_ = num_bad_epochs;
}

}  // namespace tenon::optimization
