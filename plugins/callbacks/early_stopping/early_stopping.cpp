// Early stopping: stops a run when a monitored metric stops improving.
#include <tenon/plugin.hpp>

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

#include "plugins/callbacks/callback.h"

namespace {

class EarlyStopping final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("monitor", "validation/loss").names_metric().doc("metric to monitor"),
            MonitoredDirection::param(),
            tenon::param("patience", 3)
                .range("[1, 1e9]")
                .doc("number of validations without improvement after which the run stops"),
            tenon::param("min_delta", 0.0).range("[0, inf)").doc("minimum change that counts as an improvement")};
  }

  explicit EarlyStopping(const tenon::Params& params)
      : monitor_(params.text("monitor")),
        direction_(params.text("mode")),
        patience_(params.integer("patience")),
        min_delta_(params.number("min_delta")) {}

  void on_run_setup(const tenon::Run& run) { direction_.find(run, monitor_); }

  void on_validation_end(const tenon::Run& run, tenon::Requests& requests) {
    const double value = read_metric(run, monitor_).value_or(std::numeric_limits<double>::quiet_NaN());
    if (is_better(value)) {
      best_ = value;
      validations_since_best_ = 0;
      return;
    }
    if (++validations_since_best_ >= patience_) requests.stop(describe());
  }

  std::string save_state() const {
    StateWriter state("early_stopping/1");
    state.add(static_cast<int64_t>(std::isnan(best_) ? 0 : 1));
    if (!std::isnan(best_)) state.add(best_);
    state.add(validations_since_best_);
    return state.take();
  }
  void load_state(std::string_view bytes) {
    StateReader state(bytes, "early_stopping/1");
    const double best = state.integer(0, 1) == 1 ? state.number() : std::numeric_limits<double>::quiet_NaN();
    const int64_t validations = state.integer(0, INT64_MAX);
    state.finish();
    best_ = best;
    validations_since_best_ = validations;
  }

 private:
  // The first value that is not NaN is an improvement. NaN is never an improvement.
  bool is_better(double value) const {
    return std::isnan(best_) ? !std::isnan(value) : direction_.sign() * (value - best_) > min_delta_;
  }

  std::string describe() const {
    const std::string since =
        std::to_string(validations_since_best_) + (validations_since_best_ == 1 ? " validation" : " validations");
    if (std::isnan(best_)) return monitor_ + " has been NaN for " + since;
    char best[32];
    std::snprintf(best, sizeof best, "%.4g", best_);
    return monitor_ + " has not improved on " + best + " for " + since;
  }

  std::string monitor_;
  MonitoredDirection direction_;
  int64_t patience_;
  double min_delta_;
  double best_ = std::numeric_limits<double>::quiet_NaN();
  int64_t validations_since_best_ = 0;
};

}  // namespace

TENON_PLUGIN("early_stopping", "0.1.0", "Apache-2.0", "Early stopping.",
             tenon::callback<EarlyStopping>("early_stopping",
                                            "stops the run after several validations without improvement"))
