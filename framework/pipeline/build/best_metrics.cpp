#include "framework/pipeline/build/best_metrics.h"

#include <algorithm>
#include <cmath>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace {

const std::string kBest = "best.";

// "best.min.validation/loss.0.": a run that resumes with another monitor starts with an empty list.
std::string name_of_place(const Monitor& monitor, size_t place) {
  return fmt::format("{}{}{}.{}.", kBest, monitor.is_larger_better ? "max." : "min.", monitor.metric, place);
}

}  // namespace

std::optional<Monitor> find_monitor(const config::CheckpointSection& plan, const Directions& known) {
  using Mode = config::CheckpointSection::Mode;
  if (plan.monitor.empty()) return std::nullopt;
  const std::string key = plan.monitor_place + ": checkpoint.monitor";
  const auto refuse = [&](const std::string& what) {
    throw support::Error(support::ErrorKind::configuration, "{} is \"{}\", {}", key, plan.monitor, what);
  };
  require_metric(plan.monitor, known, key);
  if (!plan.monitor.starts_with("validation/"))
    refuse("which exists only for training; expected a validation metric, such as \"validation/loss\"");
  const int32_t direction = known.at(plan.monitor);
  if (plan.mode == Mode::automatic && direction == 0)
    refuse(
        "which its metric declares neither better when higher nor when lower; expected checkpoint.mode to be "
        "\"min\" or \"max\"");
  const bool is_larger_better = plan.mode == Mode::automatic ? direction > 0 : plan.mode == Mode::max;
  return Monitor{plan.monitor, is_larger_better, plan.keep_best};
}

bool BestMetrics::observe(const NamedMetrics& metrics, int64_t step) {
  const auto found = std::ranges::find(metrics, monitor_.metric, [](const auto& metric) { return metric.first; });
  if (found == metrics.end() || std::isnan(found->second)) return false;
  const auto is_better = [this](const Best& a, const Best& b) {
    return monitor_.is_larger_better ? a.value > b.value : a.value < b.value;
  };
  const Best now{found->second, step};
  const auto place = std::ranges::upper_bound(best_, now, is_better);
  if (place - best_.begin() >= monitor_.keep) return false;
  best_.insert(place, now);
  if (static_cast<int64_t>(best_.size()) > monitor_.keep) best_.pop_back();
  return true;
}

void BestMetrics::save(SavedState& saved) const {
  for (size_t i = 0; i < best_.size(); ++i) {
    saved.numbers[name_of_place(monitor_, i) + "value"] = best_[i].value;
    saved.numbers[name_of_place(monitor_, i) + "step"] = static_cast<double>(best_[i].step);
  }
}

void BestMetrics::load(const SavedState& saved) {
  best_.clear();
  const auto keep = static_cast<size_t>(monitor_.keep);
  for (size_t i = 0; i < keep && saved.numbers.contains(name_of_place(monitor_, i) + "value"); ++i)
    best_.push_back(
        {saved.number(name_of_place(monitor_, i) + "value"), saved.count(name_of_place(monitor_, i) + "step")});
}

void BestMetrics::forget(SavedState& saved) {
  std::erase_if(saved.numbers, [](const auto& number) { return number.first.starts_with(kBest); });
}

}  // namespace tenon::pipeline
