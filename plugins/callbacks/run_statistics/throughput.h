// The training throughput, and the memory of the process.
#pragma once

#include <tenon/plugin.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

// The value of a line of /proc/self/status, "VmRSS" or "VmHWM", in MiB. NaN if there is no such line.
inline double read_memory_mib(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name; status.ignore(4096, '\n')) {
    double kib = 0;
    if (name == line + ":" && status >> kib) return kib / 1024;
  }
  return std::nan("");
}

// The quantile of the numbers with linear interpolation, as in numpy.quantile. REQUIRES: numbers are sorted and not
// empty.
inline double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  if (below + 1 == sorted.size()) return sorted.back();
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

class Throughput final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("memory", true).doc("also log the resident memory of the process and its peak")};
  }

  explicit Throughput(const tenon::Params& params) : reads_memory_(params.boolean("memory")) {}

  // Runs before the other callbacks, so that their work at the end of a step counts as part of the next step.
  int32_t priority() const { return -1000; }

  void on_epoch_start(const tenon::Run& run) {
    samples_ = tenon::read_progress(run).samples_in_epoch;
    begin(run);
  }
  // A step lasts from the end of the previous step, so it includes the wait for data. Validations and checkpoints in
  // between are excluded.
  void on_step_end(const tenon::Run& run) {
    steps_s_.push_back(run.time_s() - began_s_);
    const int64_t samples = tenon::read_progress(run).samples_in_epoch;
    trained_samples_ += samples - samples_;
    samples_ = samples;
    begin(run);
  }
  void on_validation_start(const tenon::Run& run) { pause(run); }
  void on_validation_end(const tenon::Run& run) { begin(run); }
  void on_checkpoint_before(const tenon::Run& run) { pause(run); }
  void on_checkpoint_after(const tenon::Run& run) { begin(run); }

  void on_log(const tenon::Run& run) {
    if (reads_memory_) {
      run.log_scalar("throughput/memory_mib", read_memory_mib("VmRSS"));
      run.log_scalar("throughput/peak_memory_mib", read_memory_mib("VmHWM"));
    }
    double seconds = 0;
    for (const double step_s : steps_s_) seconds += step_s;
    if (seconds > 0) {
      std::sort(steps_s_.begin(), steps_s_.end());
      run.log_scalar("throughput/samples_per_s", static_cast<double>(trained_samples_) / seconds);
      run.log_scalar("throughput/steps_per_s", static_cast<double>(steps_s_.size()) / seconds);
      run.log_scalar("throughput/step_ms_median", 1e3 * quantile(steps_s_, 0.5));
      run.log_scalar("throughput/step_ms_p95", 1e3 * quantile(steps_s_, 0.95));
    }
    steps_s_.clear();
    trained_samples_ = 0;
  }

 private:
  void begin(const tenon::Run& run) {
    began_s_ = run.time_s() - before_pause_s_;
    before_pause_s_ = 0;
    is_paused_ = false;
  }
  // Keeps the part of the next step that has already passed, once.
  void pause(const tenon::Run& run) {
    if (!is_paused_) before_pause_s_ = run.time_s() - began_s_;
    is_paused_ = true;
  }

  bool reads_memory_;
  double began_s_ = 0;         // start of the current step
  double before_pause_s_ = 0;  // duration of its part before a validation or a checkpoint
  bool is_paused_ = false;
  std::vector<double> steps_s_;  // step durations since the last line of the history
  int64_t trained_samples_ = 0;  // samples in these steps
  int64_t samples_ = 0;          // samples of the epoch at the end of the last step
};
