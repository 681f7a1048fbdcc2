// Weighted means of the losses over batches and ranks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/loss.h"
#include "framework/pipeline/state/saved_state.h"

namespace tenon::pipeline {

// Stores each loss's weight and weight * mean, or its sum if it returns sums, and the same for each of its parts. Sums
// of these over batches and ranks give the mean over all of them. A loss or part without items adds nothing.
class LossSums {
 public:
  // `losses` must outlive the object.
  explicit LossSums(const std::vector<components::Loss>& losses);

  void reset();
  // Adds the results of a batch, one per loss. `values`: of the tensors that append_scalars() lists, removed from the
  // front. Throws Error(plugin) for a weight that is negative or not finite. A part that is NaN counts as missing.
  void add(const std::vector<components::Loss::Result>& batch, std::span<const double>& values,
           const components::StepContext& context);
  // The same immediately; synchronises with the device.
  void add(const std::vector<components::Loss::Result>& batch, const components::StepContext& context);
  // Adds sums of the same losses.
  void add(const LossSums& sums);

  double weight(size_t loss) const;
  double mean(size_t loss) const;  // NaN: no items
  // The first loss with items and a mean that is NaN or infinite.
  std::optional<size_t> find_non_finite() const;

  // Sum over losses of factor * mean. NaN if no loss had items.
  double total() const;
  // The mean of each loss by name if there are several losses, and the parts of every loss as `<loss>.<part>`.
  std::vector<std::pair<std::string, double>> parts() const;

  std::span<const double> elements() const { return elements_; }
  // Reads its elements from the front and removes them.
  void set(std::span<const double>& elements);

  // Stored under `name`, for resuming a run.
  void save(const std::string& name, SavedState& saved) const;
  void load(const std::string& name, const SavedState& saved);

 private:
  double mean_at(size_t place, const components::Loss& loss) const;

  const std::vector<components::Loss>* losses_;
  std::vector<double> elements_;
};

// The index of a loss's weight in the elements; its weight * mean follows. With the number of losses: the number of
// elements.
size_t place_of_weight(const std::vector<components::Loss>& losses, size_t loss);

// The elements of one batch, [count] float64 on `device`. Does not synchronise with the device.
at::Tensor sum_elements(const std::vector<components::Loss>& losses, const std::vector<components::Loss::Result>& batch,
                        const components::StepContext& context, c10::Device device);

// The results without their autograd graph, for values that are read after it is freed.
std::vector<components::Loss::Result> detach(const std::vector<components::Loss::Result>& batch);

// Appends the scalars that LossSums::add() reads.
void append_scalars(const std::vector<components::Loss::Result>& batch, std::vector<at::Tensor>& scalars);

}  // namespace tenon::pipeline
