// The gradients of all ranks summed while backward is still at work: c10d's Reducer, the one of Python's
// DistributedDataParallel (Li et al., "PyTorch Distributed", VLDB 2020). This is the one file that knows its
// constructor, which changes from release to release.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/run_plan.h"
#include "framework/distributed/process_group.h"

namespace c10d {
class Logger;
class Reducer;
}  // namespace c10d

namespace tenon::distributed {

class SharedMemorySum;

// Gradients are views into the buckets, and their sum over the ranks (not the mean: it is divided once, by the weights
// of the losses) is there when the backward that was announced returns. Backwards that are not announced add to this
// rank's gradients alone.
class GradientReducer {
 public:
  // Which parameters, by their indices, are summed together, in the order of the buckets.
  using Buckets = std::vector<std::vector<size_t>>;

  // The trainable tensors in the order in which forward uses them, under their names. `group` must outlive it.
  // `buckets`: what buckets() gave, for a run that is resumed; empty: still to be found.
  GradientReducer(ProcessGroup& group, const config::DistributedSection& plan, std::vector<std::string> names,
                  std::vector<at::Tensor> parameters, Buckets buckets = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Before the forward whose backward is to reduce.
  void prepare_forward();
  // Before that backward, from `total`.
  void expect_backward(const at::Tensor& total);
  // After it, `error` being what it threw, if it did. Throws Error(rank_lost) where the ranks could not complete it,
  // and Error(configuration) naming the parameters that had no part in it.
  void finish_backward(const std::exception* error);
  // In place of a backward: the gradients as they are, those of a rank without a share being zero, are reduced.
  void reduce_as_they_are();

  // Between two steps, called by all ranks. Through sockets, with three ranks or more, the order in which a sum is
  // made, and so its last bit, depends on where in a bucket its elements are.
  Buckets buckets();

 private:
  class SumHook;
  void rebuild_buckets();
  void reduce_first_of_static_graph();

  ProcessGroup& group_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  bool finds_unused_;
  bool learns_graph_;                        // in its first backward
  std::unique_ptr<SharedMemorySum> shared_;  // null: sums go through the process group
  SumHook* hook_;                            // the reducer's
  std::shared_ptr<c10d::Reducer> reducer_;
  std::shared_ptr<c10d::Logger> logger_;  // which the reducer counts on
};

}  // namespace tenon::distributed
