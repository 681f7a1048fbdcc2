// Which validations of a run are the best so far: [checkpoint] monitor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/pipeline/figure_directions.h"
#include "framework/pipeline/saved_state.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// [checkpoint] monitor with nothing left open; none if nothing is monitored. Throws Error(configuration) for a figure
// that no validation of the run makes, and where nobody says which way it is better.
std::optional<Monitor> find_monitor(const config::CheckpointSection& plan, const Directions& known);

class BestFigures {
 public:
  struct Best {
    double value;
    int64_t step;
  };

  explicit BestFigures(const Monitor& monitor) : monitor_(monitor) {}

  // What was validated at this step. Whether it is among the best now: not if it is NaN, and an earlier one that is as
  // good goes before it.
  bool observe(const NamedFigures& figures, int64_t step);

  const std::vector<Best>& best() const { return best_; }  // the best first
  const Monitor& monitor() const { return monitor_; }

  void save(SavedState& saved) const;
  // Where the state has none, there was none.
  void load(const SavedState& saved);
  // Of checkpoints that the run's folder does not have.
  static void forget(SavedState& saved);

 private:
  Monitor monitor_;
  std::vector<Best> best_;  // at most monitor_.keep
};

}  // namespace tenon::pipeline
