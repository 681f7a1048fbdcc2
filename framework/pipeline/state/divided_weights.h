// The weights that each rank has with distributed.shard = "parameters".
#pragma once

#include <cstdint>
#include <vector>

#include "framework/components/kinds/model.h"
#include "framework/config/plan/run_plan.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/optimization/optimizer.h"

namespace tenon::pipeline {

// Lists the trainable tensors, or all. A tensor with several names is listed under the first one.
std::vector<optimization::NamedTensor> list_tensors(const components::Model& model, bool only_trainable);

// The parameters of a model that are divided over the ranks, frozen ones included.
struct DividedWeights {
  std::vector<optimization::NamedTensor> tensors;
  std::vector<int64_t> owners;  // the rank that has each tensor

  // The owner of each of these tensors. Rank 0 owns those that are not divided.
  std::vector<int64_t> owners_of(const std::vector<optimization::NamedTensor>& tensors) const;
};

// Divides the parameters of a model, so that the ranks need about the same memory. Frozen parameters that checkpoints
// leave out stay on all ranks, which compare them with their initial values. The result is the same on all ranks.
// Throws Error(configuration) as optimization::assign_rates() does.
DividedWeights assign_weights(const components::Model& model, const config::RunPlan& plan, int64_t ranks);

// A collective. Compares tensors of the model bit by bit between the ranks. Throws Error(plugin) on all ranks, naming
// the first one that differs.
void require_equal_weights(const std::vector<components::NamedTensor>& tensors, const components::Model& model,
                           const config::ModelSection& plan, distributed::ProcessGroup& group);

}  // namespace tenon::pipeline
