// Sums gradients over the ranks during backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/distributed_plan.h"
#include "framework/distributed/collectives/process_group.h"

namespace tenon::distributed {

// When a backward after expect_backward() returns, gradients are sums over the ranks. They are not means: the caller
// divides once by the weights of the losses. All ranks must reduce equally often. The base class does nothing: in a
// single process the gradients are those of the run. [train]
class Reducer {
 public:
  // The indices of the parameters in each bucket.
  using Buckets = std::vector<std::vector<size_t>>;

  virtual ~Reducer() = default;

  // The backward passes of a step that must reduce.
  enum class Passes { none, last, all };
  virtual Passes reduced_passes() const { return Passes::none; }

  // Called before the forward of a backward that reduces.
  virtual void prepare_forward() {}
  // Called before a backward that reduces. `total`: the loss from which backward starts.
  virtual void expect_backward(const at::Tensor& /*total*/) {}
  // Called after that backward. `error`: the exception of backward, or null. Throws Error(rank_lost) if the ranks could
  // not complete the reduction. Throws Error(configuration) with the names of unused parameters.
  virtual void finish_backward(const std::exception* /*error*/) {}
  // Called instead of a backward, by a rank that has no gradients to add.
  virtual void reduce_without_backward() {}

  // A collective, between the last backward of a step and the update. `keeps_separate`: the losses had separate
  // gradients until now, so the last backward reduced nothing. Throws Error(configuration) as finish_backward().
  virtual void finish_step(bool /*keeps_separate*/) {}

  // Returns the buckets that a resumed run must start with to get the same bits; empty: they depend only on the
  // parameters. Called by all ranks between two steps.
  virtual Buckets buckets() { return {}; }

 protected:
  // The dtype in which gradients are sent. REQUIRES: a compression.
  static at::ScalarType wire_type(config::Compression compression);
  // Throws Error(configuration). `names`: of the parameters that did not contribute to the losses.
  [[noreturn]] static void refuse_unused(const std::string& names);
};

// A collective. Returns the reducer for these trainable tensors, in the order of forward. For a single process, and
// without tensors, it does nothing. `owners`: the rank of each tensor that gets its sum; empty: all ranks get all sums.
// `buckets`: the result of buckets() for a resumed run; empty: they are determined in the first backward. `group` must
// outlive the reducer, and no other object may set hooks that run after the accumulation of gradients.
std::unique_ptr<Reducer> make_reducer(ProcessGroup& group, const config::DistributedSection& plan,
                                      std::vector<std::string> names, std::vector<at::Tensor> parameters,
                                      std::vector<int64_t> owners = {}, Reducer::Buckets buckets = {});

}  // namespace tenon::distributed
