// The losses of one optimizer step.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/loss.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/pipeline/device/non_finite_flag.h"
#include "framework/pipeline/losses/loss_sums.h"

namespace tenon::pipeline {

// Keeps the results of the step's batches without their graph. With several ranks it sums them on the device over
// batches and ranks, because a batch of one rank is only a part.
class StepLosses {
 public:
  // All must outlive this object.
  StepLosses(const std::vector<components::Loss>& losses, distributed::ProcessGroup& group, c10::Device device)
      : losses_(losses), group_(group), device_(device) {}

  // Adds the results of a batch. Throws Error(plugin) as LossSums::add().
  void add(const std::vector<components::Loss::Result>& results, const components::StepContext& context);
  size_t batches() const { return batches_.size(); }  // of the current step

  // A collective, after this rank's last batch: starts to sum over the ranks.
  void start_sum();
  // Waits for the sums. Returns the elements of LossSums over batches and ranks; undefined for a single process.
  const at::Tensor& finish_sum();
  // Sets the flag if one of the sums is NaN or infinite: no rank may change its weights then.
  void note_non_finite(NonFiniteFlag& flag) const;

  // The losses of a step on their way to the host.
  struct Posted {
    const std::vector<components::Loss>& losses;
    components::StepContext context;
    std::vector<std::vector<components::Loss::Result>> batches;  // empty: they are summed

    // Reads the scalars of post() from the front of `values` and removes them. Returns one element for each batch, or
    // one for all batches and ranks.
    std::vector<LossSums> read(std::span<const double>& values) const;
  };

  // Appends the scalars of the step and forgets its batches.
  Posted post(std::vector<at::Tensor>& scalars, const components::StepContext& context);
  void reset() { batches_.clear(); }

 private:
  const std::vector<components::Loss>& losses_;
  distributed::ProcessGroup& group_;
  c10::Device device_;
  std::vector<std::vector<components::Loss::Result>> batches_;
  at::Tensor sums_;      // over this rank's batches, see sum_elements(); undefined: no batch yet
  at::Tensor all_sums_;  // over batches and ranks
  distributed::ProcessGroup::Pending pending_;
};

}  // namespace tenon::pipeline
