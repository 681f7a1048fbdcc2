// Divides the optimizer over the ranks of a run, with distributed.shard = "optimizer" and the next stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/distributed/collectives/owned_tensors.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/optimization/optimizer.h"
#include "framework/pipeline/state/divided_weights.h"

namespace tenon::pipeline {

// Every parameter belongs to one rank, which keeps its optimizer state and updates it. All ranks have all weights. With
// divides_gradients() only this rank has the parameter's gradient when backward has ended.
class OptimizerShards {
 public:
  // A collective. Restricts the optimizer to the parameters of this rank. `divided`: the owners of the weights; null:
  // all ranks have all weights, and those that are updated get owners with about the same number of bytes. `group` and
  // `optimizer` must outlive this object.
  OptimizerShards(distributed::ProcessGroup& group, const config::DistributedSection& plan,
                  optimization::Optimizer& optimizer, const DividedWeights* divided);

  bool divides_gradients() const { return divides_gradients_; }
  // The rank of each parameter of the optimizer.
  const std::vector<int64_t>& owners() const { return owners_; }
  // Whether this rank updates it, of each parameter.
  const std::vector<bool>& owned() const { return is_owned_; }

  // A collective. Copies the trainable weights from the ranks that updated them to the others. Call it after each step.
  void gather_weights();

  // A collective. As gather_weights(), for other tensors. `parameters`: the indices of their parameters.
  void gather(const std::vector<at::Tensor>& tensors, const std::vector<size_t>& parameters);
  // For tensors with other owners.
  distributed::OwnedTensors& tensors() { return tensors_; }

 private:
  const optimization::Optimizer& optimizer_;
  distributed::OwnedTensors tensors_;
  bool divides_gradients_;
  std::vector<int64_t> owners_;  // the rank of each parameter
  std::vector<bool> is_owned_;
};

}  // namespace tenon::pipeline
