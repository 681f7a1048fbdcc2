// A tenon_run of the host, followed by the data for the extensions for callbacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/callback.h>
#include <tenon/run_metrics.h>
#include <tenon/run_progress.h>
#include <tenon/run_values.h>
#include <tenon/tensor.h>

namespace tenon::components {

// What TENON_RUN_VALUES shows of a run, except for its values. The settings refer to the texts in it, so it stays in
// one place.
class RunDescription {
 public:
  // `settings`: the keys and values of the plan.
  RunDescription(std::string name, std::string resumed_from, bool is_temporary,
                 std::vector<std::pair<std::string, std::string>> settings);
  RunDescription(const RunDescription&) = delete;

  const std::string& name() const { return name_; }
  const std::string& resumed_from() const { return resumed_from_; }
  bool is_temporary() const { return is_temporary_; }
  const std::vector<tenon_run_setting>& settings() const { return borrowed_; }

 private:
  std::string name_;
  std::string resumed_from_;
  bool is_temporary_;
  std::vector<std::pair<std::string, std::string>> settings_;
  std::vector<tenon_run_setting> borrowed_;
};

// Read-only access to the tensors that a run trains.
class TrainedTensors {
 public:
  virtual ~TrainedTensors() = default;
  // Size, names and order never change during a run.
  virtual size_t size() const = 0;
  virtual const std::string& name(size_t index) const = 0;
  // Borrowed until the run continues. REQUIRES: index < size().
  virtual tenon_tensor* value(size_t index) const = 0;
  virtual tenon_tensor* gradient(size_t index) const = 0;  // null: there is currently no gradient
};

// Every tenon_run that a plugin gets is the first member of a RunView.
struct RunView {
  tenon_run base{};
  int64_t total_epochs = 0;
  int64_t step_in_epoch = 0;
  int64_t samples_in_epoch = 0;
  const TrainedTensors* tensors = nullptr;  // null: nothing is trained
  // The implementation of tenon_run_metrics.direction; null: no metric is known.
  tenon_status (*direction)(const tenon_run* run, tenon_string name, int32_t* direction) = nullptr;

  const tenon_run_value* values = nullptr;  // of the event
  uint64_t value_count = 0;
  int32_t stop_signal = 0;                      // 0: none
  const RunDescription* description = nullptr;  // null: the run has none

  // Returns the RunView with this base.
  static const RunView& of(const tenon_run* base) { return *reinterpret_cast<const RunView*>(base); }
};

// The host's side of TENON_RUN_PROGRESS, TENON_RUN_METRICS and TENON_RUN_VALUES.
const tenon_run_progress& run_progress_extension();
const tenon_run_metrics& run_metrics_extension();
const tenon_run_values& run_values_extension();

}  // namespace tenon::components
