// The weights of a command such as `host evaluate`.
#pragma once

#include <string>

#include "framework/artifacts/run_folder/find_weights.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::host {

// Finds the weights, see artifacts::find_weights(), and sets the plan to load all tensors of the model from them. The
// frozen parameters that a checkpoint leaves out come from the initial weights of the plan. Throws Error(checkpoint).
artifacts::FoundWeights use_weights(const std::string& checkpoint, config::RunPlan& plan);

}  // namespace tenon::host
