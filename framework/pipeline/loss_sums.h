// What the losses of many batches, and of several ranks, add up to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/pipeline/saved_state.h"
#include "framework/plugins/loss.h"

namespace tenon::pipeline {

// What one loss gave for one batch, read from its tensors; or for many.
struct LossValue {
  double mean;                     // over `weight` items; without meaning where there were none
  double weight;                   // at least 0
  std::vector<double> parts = {};  // what it is made of, in the order of Loss::part_names; NaN: not given
};

// For each loss its weight and the mean times that, and so for each of its parts: sums of these, over batches and
// ranks, are what the mean of all of them is made of.
class LossSums {
 public:
  explicit LossSums(const std::vector<plugins::Loss>& losses);

  void reset();
  // A batch: values[i] belongs to losses[i].
  void add(const std::vector<LossValue>& values);

  std::span<const double> elements() const { return elements_; }
  // Takes as many off the front.
  void set(std::span<const double>& elements);

  // The place of a loss's weight in the elements.
  int64_t place_of_weight(size_t loss) const { return places_[loss]; }

  // Under `name`, for a run that is resumed.
  void save(const std::string& name, SavedState& saved) const;
  void load(const std::string& name, const SavedState& saved);

  // One value for each loss; NaN where there were no items.
  std::vector<LossValue> means() const;

 private:
  std::vector<int64_t> places_;
  std::vector<size_t> parts_;  // how many each loss has
  std::vector<double> elements_;
};

// The elements of one batch whose figures the host does not know yet, [count] float64 on `device`.
at::Tensor sum_elements(const std::vector<plugins::Loss::Result>& results, c10::Device device);

}  // namespace tenon::pipeline
