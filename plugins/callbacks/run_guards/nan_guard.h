// Detects NaN, infinity and spikes in the loss or in a metric.
#pragma once

#include <tenon/plugin.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "plugins/callbacks/monitored_metric.h"
#include "plugins/callbacks/state_text.h"

// The latest normal magnitudes of a value, and its current number of consecutive spikes. A spike is NaN, infinite, or
// larger than `factor` times the median of the full window. Spikes are not added to the window.
class SpikeDetector {
 public:
  SpikeDetector(size_t window, double factor) : window_(window), factor_(factor) {}

  bool is_spike(double value) {
    const double magnitude = std::abs(value);
    const bool is_high = values_.size() == window_ && magnitude > factor_ * median();
    if (!std::isfinite(value) || is_high) {
      ++in_a_row_;
      return true;
    }
    in_a_row_ = 0;
    values_.push_back(magnitude);
    if (values_.size() > window_) values_.pop_front();
    return false;
  }

  int64_t in_a_row() const { return in_a_row_; }
  bool is_full() const { return values_.size() == window_; }
  double median() const {
    std::vector<double> sorted(values_.begin(), values_.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }

  void save(StateWriter& state) const {
    state.add(in_a_row_);
    state.add(static_cast<int64_t>(values_.size()));
    for (const double value : values_) state.add(value);
  }
  void load(StateReader& state) {
    in_a_row_ = state.integer(0, INT64_MAX);
    std::deque<double> values(static_cast<size_t>(state.integer(0, static_cast<int64_t>(window_))));
    for (double& value : values) value = state.number();
    values_ = std::move(values);
  }

 private:
  size_t window_;
  double factor_;
  std::deque<double> values_;
  int64_t in_a_row_ = 0;
};

class NanGuard final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("monitor", std::vector<std::string>{})
                .names_metric()
                .doc("metrics to monitor in addition to the loss of each step"),
            tenon::param("factor", 10.0).range("(1, inf)").doc("a value above factor times the median is a spike"),
            tenon::param("window", 50)
                .range("[1, 100000]")
                .doc("number of normal values in the median; until it is reached, only NaN and infinity are spikes"),
            tenon::param("patience", 5)
                .range("[1, 1e9]")
                .doc("number of consecutive spikes of the same metric before the action"),
            tenon::param("action", "stop").choices({"stop", "log"}).doc("stop the run, or only log a warning")};
  }

  explicit NanGuard(const tenon::Params& params)
      : monitor_(params.texts("monitor")),
        factor_(params.number("factor")),
        patience_(params.integer("patience")),
        stops_(params.text("action") == "stop"),
        loss_(static_cast<size_t>(params.integer("window")), factor_),
        metrics_(monitor_.size(), loss_) {}

  // Does not synchronise with the device. The loss may therefore be some steps late, and each loss is checked once.
  void on_step_end(const tenon::Run& run, tenon::Requests& requests) {
    const tenon::Run::StepLoss latest = run.latest_step_loss();
    if (latest.step <= loss_step_) return;
    loss_step_ = latest.step;
    look(loss_, "the step loss", latest.loss, run, requests);
  }

  void on_log(const tenon::Run& run, tenon::Requests& requests) { check_metrics("", run, requests); }
  void on_validation_end(const tenon::Run& run, tenon::Requests& requests) {
    check_metrics("validation/", run, requests);
  }

  std::string save_state() const {
    StateWriter state("nan_guard/1");
    state.add(spikes_);
    state.add(loss_step_);
    state.add(static_cast<int64_t>(metrics_.size()));
    loss_.save(state);
    for (const SpikeDetector& metric : metrics_) metric.save(state);
    return state.take();
  }
  void load_state(std::string_view bytes) {
    StateReader state(bytes, "nan_guard/1");
    const int64_t spikes = state.integer(0, INT64_MAX), loss_step = state.integer(0, INT64_MAX);
    const auto count = static_cast<int64_t>(metrics_.size());
    state.integer(count, count);
    SpikeDetector loss = loss_;
    std::vector<SpikeDetector> metrics = metrics_;
    loss.load(state);
    for (SpikeDetector& metric : metrics) metric.load(state);
    state.finish();
    spikes_ = spikes;
    loss_step_ = loss_step;
    loss_ = std::move(loss);
    metrics_ = std::move(metrics);
  }

 private:
  // Checks validation metrics after a validation, and other metrics at each line of the history.
  void check_metrics(const std::string& prefix, const tenon::Run& run, tenon::Requests& requests) {
    for (size_t i = 0; i < monitor_.size(); ++i) {
      const bool is_validation = monitor_[i].rfind("validation/", 0) == 0;
      if (is_validation != (prefix == "validation/")) continue;
      if (const auto value = read_metric(run, monitor_[i])) look(metrics_[i], monitor_[i], *value, run, requests);
    }
  }

  void look(SpikeDetector& detector, const std::string& name, double value, const tenon::Run& run,
            tenon::Requests& requests) {
    if (!detector.is_spike(value)) return;
    run.log_scalar("nan_guard/spikes", static_cast<double>(++spikes_));
    if (detector.in_a_row() % patience_ != 0) return;
    const std::string text = describe(detector, name, value);
    if (stops_)
      requests.stop(text);
    else
      tenon::log_warning("step " + std::to_string(run.step()) + ": " + text);
  }

  std::string describe(const SpikeDetector& detector, const std::string& name, double value) const {
    char number[60];
    std::snprintf(number, sizeof number, "%.4g", value);
    std::string text = name + " is " + number;
    if (std::isfinite(value)) {
      std::snprintf(number, sizeof number, ", more than %g times the median %.4g", factor_, detector.median());
      text += number;
    }
    if (detector.in_a_row() > 1) text += ", " + std::to_string(detector.in_a_row()) + " times in a row";
    return text;
  }

  std::vector<std::string> monitor_;
  double factor_;
  int64_t patience_;
  bool stops_;
  SpikeDetector loss_;
  std::vector<SpikeDetector> metrics_;  // one per name in monitor_
  int64_t loss_step_ = 0;               // step of the loss that was checked last
  int64_t spikes_ = 0;
};
