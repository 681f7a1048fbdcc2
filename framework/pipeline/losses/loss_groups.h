// Combines the losses of a step, so that its gradient equals that of one batch, however the step is split into batches.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/loss.h"
#include "framework/pipeline/device/gradients.h"

namespace tenon::pipeline {

// A loss is a mean over its weight: the number of samples, or of tokens that are not ignored. (Or it is their sum,
// which is not multiplied by the weight, and divided by at least 1.) In a step of one batch the total is the sum of the
// losses times their factors. In a step of several batches each loss is multiplied by its weight, and the gradient is
// divided once by the sum of the weights. Losses that count different items have separate sums and separate backward
// passes: their shares are only known after the last batch.
//
// With several ranks, each rank has a part of every batch, and the weights are summed over all ranks, see set_totals().
// A step of one batch knows them before its backward, so several losses still need only one backward.
class LossGroups {
 public:
  using Backward = std::function<void(const at::Tensor& total, bool keep_graph)>;

  // batch_size: of a full batch of one rank. Weights are first divided by the samples of a full step. This keeps the
  // magnitude of the loss, and often makes the final multiplication of the gradient unnecessary.
  LossGroups(const std::vector<components::Loss>& losses, Gradients& gradients, size_t parameters, int64_t accumulate,
             int64_t ranks, int64_t batch_size, bool reads_weights);

  // Whether set_totals() must be called before run_backward(), because the shares are factors of the losses.
  bool needs_totals_first() const { return mode_ == Mode::shares; }
  // Whether the gradients of the losses are kept separate until combine().
  bool keeps_separate() const { return mode_ == Mode::sums && is_shared_ && losses_.size() > 1; }

  // Adds the items of a batch that had a backward pass.
  void count(const std::vector<components::Loss::Result>& results, int64_t samples);
  // The tensor for the backward pass; undefined: no loss of the batch has items. Calls the same operators for every
  // batch with the same weights. run_backward() equals count() and a backward of it, if it is defined. REQUIRES: a step
  // of one batch or one loss, and a single process.
  at::Tensor total(const std::vector<components::Loss::Result>& results) const;

  // Sets the elements of LossSums over all batches and ranks. With several ranks, call it before combine().
  void set_totals(const at::Tensor& sums);

  // Calls `backward` for those losses of the batch that have items, and `join` where a backward has none. So the number
  // of calls is the same on all ranks. Throws Error(plugin) if there are several losses
  // and one of them counted samples in the step's first batch and something else in a later one.
  void run_backward(const std::vector<components::Loss::Result>& results, int64_t samples, const Backward& backward,
                    const std::function<void()>& join);
  // Calls `join` as run_backward() would for a batch without items.
  void join_backward(const std::function<void()>& join);

  // After the step's last batch: sets the parameters' gradients to the sum over all groups. Returns the factor that
  // they must still be multiplied by, [] float32; undefined: none.
  at::Tensor combine();

  // Whether any loss had items for a backward.
  bool has_gradient() const { return has_gradient_; }

  void reset();

 private:
  struct Group {
    std::vector<size_t> losses;
    double weight = 0;                       // the part of the weight that the host knows
    at::Tensor device_weight = {};           // the rest, [] float64; undefined: none
    std::vector<at::Tensor> gradients = {};  // one per parameter; only if there are several groups
  };

  // How the losses of a batch are combined into the total for backward.
  enum class Mode {
    means,   // unchanged
    shares,  // each multiplied by its share of all ranks' items
    sums     // multiplied by their items; the gradient is divided by the sum at the end
  };

  void with_gradients_of(Group& group, const std::function<void()>& run);
  std::vector<Group> make_groups(const std::vector<components::Loss::Result>& results, int64_t samples) const;
  at::Tensor add_up_means(const std::vector<components::Loss::Result>& results) const;
  at::Tensor add_up_shares(const std::vector<components::Loss::Result>& results) const;
  at::Tensor add_up_sums(const std::vector<size_t>& losses, const std::vector<components::Loss::Result>& results) const;
  void count_items(const std::vector<components::Loss::Result>& results, int64_t samples);
  void count_items(Group& group, const std::vector<components::Loss::Result>& results, int64_t samples) const;
  at::Tensor factor_of(const Group& group) const;

  const std::vector<components::Loss>& losses_;
  Gradients& gradients_;
  size_t parameters_;
  Mode mode_;
  bool is_shared_;      // between several ranks
  double step_size_;    // samples of a full step
  bool reads_weights_;  // whether weights given as tensors are in host memory
  std::vector<Group> groups_;
  std::vector<at::Tensor> totals_;  // each loss's weight, [] float64
  bool has_gradient_ = false;
};

}  // namespace tenon::pipeline
