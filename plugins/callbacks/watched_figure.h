// A figure that a callback watches by its name in the history.
#pragma once

#include <tenon/plugin.hpp>

#include <optional>
#include <string>

// A figure of the host's that will never be there is a misspelt one, which run_setup is the place to report; others may
// come from another callback.
inline void require_figure(const tenon::Run& run, const std::string& name) {
  if (name.rfind("train/", 0) == 0 || name.rfind("validation/", 0) == 0) run.figure(name);
}

// Its latest value; none while another callback has not given it yet.
inline std::optional<double> read_figure(const tenon::Run& run, const std::string& name) {
  try {
    return run.figure(name);
  } catch (const tenon::Error& error) {
    if (error.status() != TENON_NOT_FOUND) throw;
    return std::nullopt;
  }
}

// Which way a watched figure is better: the parameter `mode`, and what the run says where that is "auto".
class WatchedDirection {
 public:
  static tenon::Param param() {
    return tenon::param("mode", "auto")
        .choices({"auto", "min", "max"})
        .doc("whether smaller or larger is better; auto: as the figure's loss or metric says");
  }
  explicit WatchedDirection(const std::string& mode) : sign_(mode == "max" ? 1 : mode == "min" ? -1 : 0) {}

  // At run_setup.
  void find(const tenon::Run& run, const std::string& figure) {
    if (sign_ == 0) sign_ = ask(run, figure);
    if (sign_ == 0) {
      throw tenon::Error(TENON_INVALID_ARGUMENT, "mode is \"auto\", and nobody says whether a smaller or a larger " +
                                                     figure + " is better; expected \"min\" or \"max\"");
    }
  }

  double sign() const { return sign_; }  // 1: larger is better, -1: smaller is

 private:
  // A figure that another callback has not given yet is not known.
  static int ask(const tenon::Run& run, const std::string& figure) {
    try {
      return tenon::figure_direction(run, figure);
    } catch (const tenon::Error& error) {
      if (error.status() != TENON_NOT_FOUND) throw;
      return 0;
    }
  }

  int sign_;
};
