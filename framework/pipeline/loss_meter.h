// The mean of losses over many batches, by weight.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/pipeline/loss_sums.h"
#include "framework/plugins/loss.h"

namespace tenon::pipeline {

class LossMeter {
 public:
  explicit LossMeter(const std::vector<plugins::Loss>& losses);

  void add(const std::vector<LossValue>& batch) { sums_.add(batch); }
  void reset() { sums_.reset(); }
  LossSums& sums() { return sums_; }
  const LossSums& sums() const { return sums_; }

  // Sum over losses of factor * (sum of weight * mean / sum of weight). A loss that had no items adds nothing; NaN if
  // none had any.
  double total() const;
  // Where there are several losses, each one's own mean by name; and of every loss its parts as `<loss>.<part>`.
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
