// What the losses of a step, or of an evaluation, add up to over the ranks.
#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/pipeline/loss_meter.h"
#include "framework/plugins/loss.h"

namespace tenon::pipeline {

// For each loss its weight and the mean times that, and so for each of its parts: sums of these, over batches and
// ranks, are what the mean of all of them is made of.
class LossSums {
 public:
  // `device`: where tensor() is to be.
  LossSums(const std::vector<plugins::Loss>& losses, c10::Device device);

  void reset();
  // A batch. Of one whose figures the host does not know yet, the results themselves.
  void add(const std::vector<LossValue>& values);
  void add(const std::vector<plugins::Loss::Result>& results);

  // All that was added, [count] float64, for the other ranks' to be added to.
  at::Tensor tensor();

  // The place of a loss's weight in tensor().
  int64_t place_of_weight(size_t loss) const { return places_[loss]; }

  // One value for each loss, from the elements of tensor(); takes those off the front.
  std::vector<LossValue> read(std::span<const double>& elements) const;

 private:
  std::vector<int64_t> places_;
  std::vector<size_t> parts_;  // how many each loss has
  c10::Device device_;
  std::vector<double> known_;
  at::Tensor unknown_;  // by the host; undefined: none
};

}  // namespace tenon::pipeline
