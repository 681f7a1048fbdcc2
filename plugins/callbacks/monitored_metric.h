// A metric that a callback monitors by its name in the history.
#pragma once

#include <tenon/plugin.hpp>

#include <optional>
#include <string>

// Returns the latest value, or nothing as long as another callback has not logged it.
inline std::optional<double> read_metric(const tenon::Run& run, const std::string& name) {
  try {
    return run.metric(name);
  } catch (const tenon::Error& error) {
    if (error.status() != TENON_NOT_FOUND) throw;
    return std::nullopt;
  }
}

// Whether higher or lower values of the monitored metric are better: the parameter `mode`, and for "auto" the direction
// that the run reports.
class MonitoredDirection {
 public:
  static tenon::Param param() {
    return tenon::param("mode", "auto")
        .choices({"auto", "min", "max"})
        .doc("min: lower is better; max: higher is better; auto: as declared by the loss or metric");
  }
  explicit MonitoredDirection(const std::string& mode) : sign_(mode == "max" ? 1 : mode == "min" ? -1 : 0) {}

  // Call it in run_setup.
  void find(const tenon::Run& run, const std::string& metric) {
    if (sign_ == 0) sign_ = request(run, metric);
    if (sign_ == 0) {
      throw tenon::Error(TENON_INVALID_ARGUMENT, "mode is \"auto\", but it is unknown whether a lower or a higher " +
                                                     metric + " is better; set \"min\" or \"max\"");
    }
  }

  double sign() const { return sign_; }  // 1: higher is better, -1: lower is better

 private:
  // A metric that another callback has not logged yet is unknown.
  static int request(const tenon::Run& run, const std::string& metric) {
    try {
      return tenon::metric_direction(run, metric);
    } catch (const tenon::Error& error) {
      if (error.status() != TENON_NOT_FOUND) throw;
      return 0;
    }
  }

  int sign_;
};
