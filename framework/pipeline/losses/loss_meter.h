// The weighted mean of losses over many batches.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/pipeline/losses/loss_sums.h"
#include "framework/plugins/components/loss.h"

namespace tenon::pipeline {

class LossMeter {
 public:
  explicit LossMeter(const std::vector<plugins::Loss>& losses);

  void add(const std::vector<LossValue>& batch) { sums_.add(batch); }
  void reset() { sums_.reset(); }
  LossSums& sums() { return sums_; }
  const LossSums& sums() const { return sums_; }

  // Sum over losses of factor * (sum of weight * mean / sum of weight). A loss without items adds nothing. NaN if no
  // loss had items.
  double total() const;
  // The mean of each loss by name if there are several losses, and the parts of every loss as `<loss>.<part>`.
  std::vector<std::pair<std::string, double>> parts() const;

 private:
  struct Names {
    std::string loss;
    double factor;
    std::vector<std::string> parts;
  };
  std::vector<Names> names_;
  LossSums sums_;
};

}  // namespace tenon::pipeline
