// Tracks the best validations of a run: [checkpoint] monitor.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/pipeline/build/metric_directions.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/state/saved_state.h"

namespace tenon::pipeline {

// Resolves [checkpoint] monitor; nothing if no metric is monitored. Throws Error(configuration) for a metric that no
// validation of the run computes, and if neither metric nor run file declares which direction is better.
std::optional<Monitor> find_monitor(const config::CheckpointSection& plan, const Directions& known);

class BestMetrics {
 public:
  struct Best {
    double value;
    int64_t step;
  };

  explicit BestMetrics(const Monitor& monitor) : monitor_(monitor) {}

  // Takes the metrics of a validation at this step. Returns whether it is now among the best. NaN never is. Among equal
  // values the earlier one ranks first.
  bool observe(const NamedMetrics& metrics, int64_t step);

  const std::vector<Best>& best() const { return best_; }  // best first
  const Monitor& monitor() const { return monitor_; }

  void save(SavedState& saved) const;
  // A state without entries loads as empty.
  void load(const SavedState& saved);
  // Removes the entries. For checkpoints that are not in the run folder.
  static void forget(SavedState& saved);

 private:
  Monitor monitor_;
  std::vector<Best> best_;  // at most monitor_.keep
};

}  // namespace tenon::pipeline
