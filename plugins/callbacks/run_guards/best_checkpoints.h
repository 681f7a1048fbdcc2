// Saves checkpoints of the best weights.
#pragma once

#include <tenon/plugin.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "plugins/callbacks/monitored_metric.h"
#include "plugins/callbacks/state_text.h"

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
