// The folds of a command that evaluates weights.
#pragma once

#include <filesystem>

#include "framework/config/plan/run_plan.h"

namespace tenon::host {

// Gives the plan data.folds of the run that trained the weights, from the plan.toml next to them. So an evaluation has
// the samples that the run did not train on, also if the run file names another fold or none. Data with other samples
// than those of the run are not divided. Nothing changes if there is no such file or if the run had no folds. Throws
// Error(configuration) if the run file has another data.subset_seed than the run.
void use_folds(config::RunPlan& plan, const std::filesystem::path& weights);

}  // namespace tenon::host
