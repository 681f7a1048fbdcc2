// Sums the gradients of all ranks during backward with c10d's Reducer, like DistributedDataParallel in Python (Li et
// al., "PyTorch Distributed", VLDB 2020). Only this module calls the constructor of Reducer, which changes between
// releases.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/run_plan.h"
#include "framework/distributed/collectives/process_group.h"

namespace c10d {
class Logger;
class Reducer;
}  // namespace c10d

namespace tenon::distributed {

class SharedMemorySum;

// Gradients are views into the buckets. When a backward after expect_backward() returns, they are sums over the ranks.
// They are not means: the caller divides once by the weights of the losses. Any other backward only adds to the
// gradients of this rank.
class GradientReducer {
 public:
  // The indices of the parameters in each bucket.
  using Buckets = std::vector<std::vector<size_t>>;

  // `names` and `parameters`: the trainable tensors in the order of forward. `group` must outlive this object.
  // `buckets`: the result of buckets() for a resumed run; empty: they are determined in the first backward.
  GradientReducer(ProcessGroup& group, const config::DistributedSection& plan, std::vector<std::string> names,
                  std::vector<at::Tensor> parameters, Buckets buckets = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Called before the forward of a backward that reduces.
  void prepare_forward();
  // Called before a backward that reduces. `total`: the loss from which backward starts.
  void expect_backward(const at::Tensor& total);
  // Called after that backward. `error`: the exception of backward, or null. Throws Error(rank_lost) if the ranks could
  // not complete the reduction. Throws Error(configuration) with the names of unused parameters.
  void finish_backward(const std::exception* error);
  // Called instead of a backward. Reduces the current gradients. A rank without a batch contributes zeros.
  void reduce_as_they_are();

  // Returns the current buckets. Called by all ranks between two steps. With three or more ranks over sockets, the
  // order of a sum, and so its last bit, depends on the position of the elements in a bucket.
  Buckets buckets();

 private:
  class SumHook;
  void rebuild_buckets();
  void reduce_first_of_static_graph();

  ProcessGroup& group_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  bool finds_unused_;
  bool records_graph_;                       // the next backward is the first one of a static graph
  std::unique_ptr<SharedMemorySum> shared_;  // null: sums use the process group
  SumHook* hook_;                            // owned by the reducer
  std::shared_ptr<c10d::Reducer> reducer_;
  std::shared_ptr<c10d::Logger> logger_;  // used by the reducer
};

}  // namespace tenon::distributed
