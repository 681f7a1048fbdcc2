// Stops a run cleanly before its time limit.
#pragma once

#include <tenon/plugin.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

#include "plugins/callbacks/run_guards/process_age.h"

// Parses "55 minutes", "1.5 hours" or "90 seconds" into seconds. Throws tenon::Error for other text.
inline double parse_duration(const std::string& text, const std::string& parameter) {
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
