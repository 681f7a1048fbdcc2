// Sums gradients over the ranks during backward.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/distributed_plan.h"

namespace tenon::distributed {

// When a backward after expect_backward() returns, gradients are sums over the ranks. They are not means: the caller
// divides once by the weights of the losses. All ranks must reduce equally often. [train]
class Reducer {
 public:
  // The indices of the parameters in each bucket.
  using Buckets = std::vector<std::vector<size_t>>;

  virtual ~Reducer() = default;

  // Whether every backward of a step must reduce, and not only the last one.
  virtual bool reduces_each_backward() const = 0;

  // Called before the forward of a backward that reduces.
  virtual void prepare_forward() = 0;
  // Called before a backward that reduces. `total`: the loss from which backward starts.
  virtual void expect_backward(const at::Tensor& total) = 0;
  // Called after that backward. `error`: the exception of backward, or null. Throws Error(rank_lost) if the ranks could
  // not complete the reduction. Throws Error(configuration) with the names of unused parameters.
  virtual void finish_backward(const std::exception* error) = 0;
  // Called instead of a backward, by a rank that has no gradients to add.
  virtual void reduce_without_backward() = 0;

  // Returns the buckets that a resumed run must start with to get the same bits. Called by all ranks between two steps.
  virtual Buckets buckets() = 0;

 protected:
  // The dtype in which gradients are sent. REQUIRES: a compression.
  static at::ScalarType wire_type(config::Compression compression);
  // Throws Error(configuration). `names`: of the parameters that did not contribute to the losses.
  [[noreturn]] static void refuse_unused(const std::string& names);
};

}  // namespace tenon::distributed
