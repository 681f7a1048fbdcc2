// The mean of losses over many batches, by weight, without a wait for the device on the way.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/plugins/model.h"

namespace tenon::pipeline {

// Keeps each batch's scalars as they are and looks at them only when a mean is asked for.
class LossMeter {
 public:
  explicit LossMeter(const std::vector<plugins::Loss>& losses);

  // One batch: results[i] belongs to losses[i].
  void add(const std::vector<plugins::Loss::Result>& results);
  void reset();

  // Sum over losses of factor * (sum of weight * loss / sum of weight); NaN before the first batch. Waits for the
  // device.
  double read_total();
  // Where there are several losses, each one's own mean by name; empty for one.
  std::vector<std::pair<std::string, double>> read_parts();

 private:
  struct Mean {
    std::string name;
    double factor;
    double weighted_sum = 0;
    double weight = 0;
    std::vector<plugins::Loss::Result> unread;
    void drain();
    double value() const;
  };
  std::vector<Mean> means_;
};

}  // namespace tenon::pipeline
