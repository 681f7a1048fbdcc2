// The weights that each rank has with distributed.shard = "parameters".
#pragma once

#include <cstdint>
#include <vector>

#include "framework/config/plan/run_plan.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/optimization/optimizer.h"
#include "framework/plugins/components/model.h"

namespace tenon::pipeline {

// Lists the trainable tensors, or all. A tensor with several names is listed under the first one.
std::vector<optimization::NamedTensor> list_tensors(const plugins::Model& model, bool only_trainable);

// Returns the rank that has each parameter. Depends only on the shapes.
std::vector<int64_t> assign_weights(const std::vector<optimization::NamedTensor>& parameters, int64_t ranks);

// A collective. Compares tensors of the model bit by bit between the ranks. Throws Error(plugin) on all ranks, naming
// the first one that differs.
void require_equal_weights(const std::vector<plugins::NamedTensor>& tensors, const plugins::Model& model,
                           const config::ModelSection& plan, distributed::ProcessGroup& group);

// A collective, for a new model on the CPU. Frees the memory of the trainable tensors that other ranks have. A tensor
// that shares its memory with another one stays on all ranks. Throws Error(plugin) if the weights are not the same on
// all ranks.
void divide_weights(const plugins::Model& model, const config::ModelSection& plan, distributed::ProcessGroup& group);

// Removes the tensors that only other ranks have.
std::vector<plugins::NamedTensor> select_present(const std::vector<plugins::NamedTensor>& tensors);

}  // namespace tenon::pipeline
