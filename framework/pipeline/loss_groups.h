// The sum of a step's losses, whose gradient is that of one batch, however the step is split into batches.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/pipeline/gradients.h"
#include "framework/pipeline/loss_sums.h"
#include "framework/plugins/loss.h"

namespace tenon::pipeline {

// A loss is the mean over its weight: samples, or tokens that are not ignored. In a step of one batch the total is the
// sum of the losses by their factors. In one of several, each loss enters with its weight, and the gradient is divided
// once by the sum of the weights. Losses that count different items have sums of their own, and so a backward of their
// own: their shares are known only when the last batch is seen.
//
// With several ranks each has a part of every batch, and the weights are those of all ranks together, set_totals(). A
// step of one batch knows them before its backward, so that several losses still need only one.
class LossGroups {
 public:
  using Backward = std::function<void(const at::Tensor& total, bool keep_graph)>;

  // batch_size: of a full batch of one rank. Weights are divided first by the samples of a full step, so that the loss
  // keeps its magnitude, and often nothing is left to multiply the gradient by.
  LossGroups(const std::vector<plugins::Loss>& losses, Gradients& gradients, size_t parameters, int64_t accumulate,
             int64_t ranks, int64_t batch_size, bool reads_weights);

  // Whether set_totals() has to come before add(), for each loss's share is a factor of it.
  bool needs_totals_first() const { return way_ == Way::shares; }
  // Whether the gradients of the losses are kept apart until combine().
  bool keeps_apart() const { return way_ == Way::sums && is_shared_ && losses_.size() > 1; }

  // The sums over all batches and ranks, see LossSums: before combine(), where there are several ranks.
  void set_totals(const at::Tensor& sums, const LossSums& places);

  // Calls `backward` for what of the batch's losses has items. Throws Error(plugin) where a loss that counted samples
  // in the step's first batch counts something else in a later one, and there are several losses.
  void add(const std::vector<plugins::Loss::Result>& results, int64_t samples, const Backward& backward);

  // After the step's last batch: the parameters' gradients are those of all groups. Returns what they have yet to be
  // multiplied by, [] float32; undefined: by nothing.
  at::Tensor combine();

  // Whether there was something to go backward from.
  bool has_gradient() const { return has_gradient_; }

  void reset();

 private:
  struct Group {
    std::vector<size_t> losses;
    bool counts_samples;
    double weight = 0;                       // so far, as far as the host knows it
    at::Tensor device_weight = {};           // the rest, [] float64; undefined: none
    std::vector<at::Tensor> gradients = {};  // of each parameter; only where there are several groups
  };

  // How the losses of a batch become what backward is run from.
  enum class Way {
    means,   // as they are
    shares,  // each by its part of all ranks' items
    sums     // times their items, by which the gradient is divided in the end
  };

  std::vector<Group> make_groups(const std::vector<plugins::Loss::Result>& results, int64_t samples) const;
  at::Tensor add_up_means(const std::vector<plugins::Loss::Result>& results) const;
  at::Tensor add_up_shares(const std::vector<plugins::Loss::Result>& results) const;
  at::Tensor add_up_sums(Group& group, const std::vector<plugins::Loss::Result>& results, int64_t samples) const;
  at::Tensor factor_of(const Group& group) const;

  const std::vector<plugins::Loss>& losses_;
  Gradients& gradients_;
  size_t parameters_;
  Way way_;
  bool is_shared_;      // by several ranks
  double step_size_;    // samples of a full step
  bool reads_weights_;  // whether a weight that is a tensor is in the host's memory
  std::vector<Group> groups_;
  std::vector<at::Tensor> totals_;  // of each loss's weight, [] float64
  bool has_gradient_ = false;
};

}  // namespace tenon::pipeline
