// Sums of losses over batches and ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/pipeline/state/saved_state.h"
#include "framework/plugins/components/loss.h"

namespace tenon::pipeline {

// The values of one loss for one batch, read from its tensors, or for many batches.
struct LossValue {
  double mean;                     // over `weight` items; undefined if there were none
  double weight;                   // at least 0
  std::vector<double> parts = {};  // in the order of Loss::part_names; NaN: missing
};

// Stores each loss's weight and weight * mean, and the same for each of its parts. Sums of these over batches and ranks
// give the mean over all of them.
class LossSums {
 public:
  explicit LossSums(const std::vector<plugins::Loss>& losses);

  void reset();
  // Adds a batch: values[i] belongs to losses[i].
  void add(const std::vector<LossValue>& values);

  std::span<const double> elements() const { return elements_; }
  // Reads its elements from the front and removes them.
  void set(std::span<const double>& elements);

  // The index of a loss's weight in the elements.
  int64_t place_of_weight(size_t loss) const { return places_[loss]; }

  // Stored under `name`, for resuming a run.
  void save(const std::string& name, SavedState& saved) const;
  void load(const std::string& name, const SavedState& saved);

  // One value per loss; NaN if there were no items.
  std::vector<LossValue> means() const;

 private:
  std::vector<int64_t> places_;
  std::vector<size_t> parts_;  // number of parts per loss
  std::vector<double> elements_;
};

// The elements of one batch with values that the host does not know yet, [count] float64 on `device`.
at::Tensor sum_elements(const std::vector<plugins::Loss::Result>& results, c10::Device device);

}  // namespace tenon::pipeline
