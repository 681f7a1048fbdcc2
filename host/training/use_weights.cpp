#include "host/training/use_weights.h"

#include "framework/artifacts/checkpoint/checkpoint.h"

namespace tenon::host {

artifacts::FoundWeights use_weights(const std::string& checkpoint, config::RunPlan& plan) {
  artifacts::FoundWeights weights = artifacts::find_weights(checkpoint, plan.run.output_dir, plan.run.name);
  if (!artifacts::find_excluded_tensors(weights.file).tensors.empty()) {
    plan.model.checkpoint = weights.file;
    return weights;
  }
  plan.model.weights = weights.file;
  // model.weights_match applies only to the initial weights of a run. Here all tensors of the model must match.
  plan.model.weights_match = config::WeightsMatch::strict;
  plan.model.weights_exclude.clear();
  plan.model.weights_rename.clear();
  return weights;
}

}  // namespace tenon::host
