// Builds a model and divides its weights over the ranks, with distributed.shard = "parameters".
#pragma once

#include <functional>

#include "framework/components/kinds/model.h"
#include "framework/config/plan/run_plan.h"
#include "framework/distributed/collectives/process_group.h"

namespace tenon::pipeline {

// A collective. Builds a new model on the CPU and frees the memory of the tensors that other ranks have: of those that
// the host initialises right after it has, so that the ranks never have all of them. Tensors that the plugin has
// created itself are freed at the end, unless they share their memory with another one. `create`: creates the model,
// and seeds LibTorch's generator; it is called twice. Throws Error(plugin) if a tensor that the plugin has created is
// not the same on all ranks, Error(configuration) if the model differs, and as assign_weights() does.
components::Model build_divided(const std::function<components::Model()>& create, const config::RunPlan& plan,
                                distributed::ProcessGroup& group);

}  // namespace tenon::pipeline
