// Callbacks that guard a run: time limit, loss spikes, best checkpoints.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/callbacks/callback.h"

namespace {

double boot_time_s() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The start time of this process on the clock of boot_time_s(): field 22 of proc(5)'s stat, in clock ticks. Without
// /proc, the time of the first call.
double read_process_start_s() {
  std::ifstream stream("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const size_t name_end = text.rfind(')');  // the name before it may contain any characters
  double ticks = 0;
  if (name_end != std::string::npos) {
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field < 22; ++field) fields >> skipped;
    if (fields >> ticks) return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return boot_time_s();
}

double process_age_s() {
  static const double start_s = read_process_start_s();
  return boot_time_s() - start_s;
}

// Parses "55 minutes", "1.5 hours" or "90 seconds" into seconds. Throws tenon::Error for other text.
double parse_duration(const std::string& text, const std::string& parameter) {
  char* end = nullptr;
  const double count = std::strtod(text.c_str(), &end);
  std::string unit = end;
  if (!unit.empty() && unit.back() == 's') unit.pop_back();
  const double size = unit == " hour" ? 3600 : unit == " minute" ? 60 : unit == " second" ? 1 : 0;
  if (end == text.c_str() || size == 0 || !(count >= 0) || !(count <= 1e9)) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "params." + parameter + " is \"" + text +
                                                   "\"; expected a time such as \"55 minutes\", \"1.5 hours\" or "
                                                   "\"90 seconds\"");
  }
  return count * size;
}

// Stops a run cleanly before its time limit.
class TimeLimit final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::required<std::string>("budget").doc(
                "time limit of the process from start to exit: \"55 minutes\", \"1.5 hours\""),
            tenon::param("margin", "0 seconds").doc("time reserved for the work after the stop"),
            tenon::param("measure", true)
                .doc("also reserve time for one more validation and checkpoint, estimated by the longest so far")};
  }

  explicit TimeLimit(const tenon::Params& params)
      : budget_s_(parse_duration(params.text("budget"), "budget")),
        margin_s_(parse_duration(params.text("margin"), "margin")),
        measures_(params.boolean("measure")),
        budget_(params.text("budget")) {}

  void on_validation_start(const tenon::Run& run) {
    if (!is_validating_) validation_began_s_ = run.time_s();
    is_validating_ = true;
  }
  void on_validation_end(const tenon::Run& run) {
    longest_validation_s_ = std::max(longest_validation_s_, run.time_s() - validation_began_s_);
    is_validating_ = false;
  }
  void on_checkpoint_before(const tenon::Run& run) { checkpoint_began_s_ = run.time_s(); }
  void on_checkpoint_after(const tenon::Run& run) {
    longest_checkpoint_s_ = std::max(longest_checkpoint_s_, run.time_s() - checkpoint_began_s_);
  }

  // The host executes requests of on_step_end after that step: first the checkpoint, then the last validation.
  void on_step_end(const tenon::Run&, tenon::Requests& requests) const {
    const double left_s = budget_s_ - process_age_s();
    // The run saves twice: now, and again if the last validation changed what the checkpoint contains.
    const double needed_s = margin_s_ + (measures_ ? longest_validation_s_ + 2 * longest_checkpoint_s_ : 0);
    if (left_s > needed_s) return;
    char text[120];
    std::snprintf(text, sizeof text, "%.0f s of %s are left; %.0f s are reserved for the end of the run",
                  std::max(left_s, 0.0), budget_.c_str(), needed_s);
    requests.stop(text);
    requests.save();
  }

 private:
  double budget_s_;
  double margin_s_;
  bool measures_;
  std::string budget_;
  bool is_validating_ = false;
  double validation_began_s_ = 0;
  double longest_validation_s_ = 0;
  double checkpoint_began_s_ = 0;
  double longest_checkpoint_s_ = 0;
};

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

// Detects NaN, infinity and spikes in the loss or in a metric.
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

// Saves checkpoints of the best weights.
class BestCheckpoints final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("monitor", "validation/loss").names_metric().doc("metric to monitor"),
            MonitoredDirection::param(),
            tenon::param("top", 1)
                .range("[1, 1000]")
                .doc("number of best values; a checkpoint is saved when the metric is among the best so far"),
            tenon::param("min_delta", 0.0)
                .range("[0, inf)")
                .doc("minimum improvement over the worst of these best values")};
  }

  explicit BestCheckpoints(const tenon::Params& params)
      : monitor_(params.text("monitor")),
        direction_(params.text("mode")),
        top_(static_cast<size_t>(params.integer("top"))),
        min_delta_(params.number("min_delta")) {}

  void on_run_setup(const tenon::Run& run) { direction_.find(run, monitor_); }

  void on_validation_end(const tenon::Run& run, tenon::Requests& requests) {
    const double value = read_metric(run, monitor_).value_or(std::nan(""));
    if (std::isnan(value) || !is_among_best(value)) return;
    const double sign = direction_.sign();
    // Sorted from best to worst. Of equal values the earlier one is first.
    const auto place =
        std::upper_bound(best_.begin(), best_.end(), value, [&](double a, double b) { return sign * a > sign * b; });
    const auto rank = place - best_.begin() + 1;
    best_.insert(place, value);
    if (best_.size() > top_) best_.pop_back();
    run.log_scalar("best_checkpoints/best", best_.front());
    char text[80];
    std::snprintf(text, sizeof text, " is %.4g, number %d of the best values so far", value, static_cast<int>(rank));
    requests.save(monitor_ + text);
  }

  std::string save_state() const {
    StateWriter state("best_checkpoints/1");
    state.add(static_cast<int64_t>(best_.size()));
    for (const double value : best_) state.add(value);
    return state.take();
  }
  void load_state(std::string_view bytes) {
    StateReader state(bytes, "best_checkpoints/1");
    std::vector<double> best(static_cast<size_t>(state.integer(0, static_cast<int64_t>(top_))));
    for (double& value : best) value = state.number();
    state.finish();
    best_ = std::move(best);
  }

 private:
  bool is_among_best(double value) const {
    return best_.size() < top_ || direction_.sign() * (value - best_.back()) > min_delta_;
  }

  std::string monitor_;
  MonitoredDirection direction_;
  size_t top_;
  double min_delta_;
  std::vector<double> best_;  // sorted from best to worst
};

}  // namespace

TENON_PLUGIN("run_guards", "0.1.0", "Apache-2.0", "Guards for a run: time limit, loss spikes, best checkpoints.",
             tenon::callback<TimeLimit>("time_limit", "stops the run with a checkpoint before the time limit"),
             tenon::callback<NanGuard>("nan_guard", "stops the run when the loss or a metric spikes repeatedly"),
             tenon::callback<BestCheckpoints>("best_checkpoints",
                                              "saves a checkpoint when a metric is among the best values so far"))
