// The state of a run, read-only for callbacks, the progress bar and the history.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/support/text/format.h"

namespace tenon::pipeline {

// By their names in the history: `train/loss`, `validation/accuracy`.
using MetricValues = std::map<std::string, double>;

struct FirstLoss {
  double found;
  double zero_output;  // if all outputs were zero: ln C for the logits of C classes

  // Common initialisations are within 20 % of it. Outputs at the scale of normalised targets double a squared error.
  bool is_far_above() const { return zero_output > 0 && found > 2.2 * zero_output; }
};

// One line for the user: both numbers, and what to check if the first is far above the second.
inline std::string describe(const FirstLoss& loss) {
  return fmt::format("initial loss {:.4g} ({:.4g} expected for zero outputs){}", loss.found, loss.zero_output,
                     loss.is_far_above() ? "; far too high: check the initialisation of the model and the scale of its "
                                           "inputs and targets"
                                         : "");
}

struct RunState {
  uint32_t rank = 0;  // of this process, of world_size
  uint32_t world_size = 1;
  int64_t epoch = 0;  // from 1; 0 before the first
  int64_t step = 0;   // optimizer steps done
  int64_t total_epochs = 0;
  int64_t total_steps = 0;
  int64_t steps_per_epoch = 0;                                  // optimizer steps
  int64_t step_in_epoch = 0;                                    // done in this epoch
  int64_t samples_in_epoch = 0;                                 // seen in this epoch
  bool is_epoch_complete = false;                               // all its batches were seen
  double time_s = 0;                                            // since run_start
  double epoch_start_s = 0;                                     // time_s at the start of this epoch
  double epoch_validation_s = 0;                                // part of this epoch's time spent in validations
  double data_wait_s = 0;                                       // part of time_s spent waiting for batches
  double learning_rate = 0;                                     // of the current or last step
  double step_loss = std::numeric_limits<double>::quiet_NaN();  // the sum of losses of the last step done
  std::optional<FirstLoss> first_loss = {};                     // once known; none in a resumed run
  int64_t host_waits = 0;                                       // number of times that training waited for the device
  int64_t graph_replays = 0;                                    // number of batches that ran as a CUDA graph
  std::string folder;  // the run folder, absolute; empty if the run writes no files
  std::string error;   // the error that ended the run, from run_exception on

  MetricValues metrics;  // the latest value of each metric
  std::map<std::string, int32_t>
      directions;  // of all metrics that the host computes: 1 higher is better, -1 lower is better, 0 neither
  std::vector<std::string> epoch_metrics = {};  // names of the metrics over the training data, computed for each epoch
  int64_t validated_step = -1;                  // the step of the latest validation metrics; -1: none yet

  int32_t stop_signal = 0;  // the signal that stopped the run; 0: none

  // The values that an event adds to the history: at log, validation_end and epoch_end those of its lines, at run_end
  // those of the test data. Null at any other event.
  const std::vector<std::pair<std::string, double>>* event_values = nullptr;

  // Set during a validation.
  std::string validation_name;   // "validation", or "validation/<name>"
  int64_t validation_batch = 0;  // batches done
  int64_t validation_batches = 0;

  // The mean training loss since the epoch started.
  std::function<double()> read_epoch_loss;
};

}  // namespace tenon::pipeline
