// The mean of losses over many batches, by weight.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/plugins/loss.h"

namespace tenon::pipeline {

// What one loss gave for one batch, read from its tensors.
struct LossValue {
  double mean;                     // over `weight` items; without meaning where there were none
  double weight;                   // at least 0
  std::vector<double> parts = {};  // what it is made of, in the order of Loss::part_names; NaN: not given
};

class LossMeter {
 public:
  explicit LossMeter(const std::vector<plugins::Loss>& losses);

  // One batch: values[i] belongs to losses[i].
  void add(const std::vector<LossValue>& values);
  void reset();

  // Sum over losses of factor * (sum of weight * mean / sum of weight). A loss that had no items adds nothing; NaN if
  // none had any.
  double total() const;
  // Where there are several losses, each one's own mean by name; and of every loss its parts as `<loss>.<part>`.
  std::vector<std::pair<std::string, double>> parts() const;

 private:
  struct Mean {
    std::string name;
    double factor;
    double weighted_sum = 0;
    double weight = 0;
    void add(double mean, double over);
    double value() const;
  };
  std::vector<Mean> means_;
  std::vector<std::vector<Mean>> parts_;  // of each loss
};

}  // namespace tenon::pipeline
