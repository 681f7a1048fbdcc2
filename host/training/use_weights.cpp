#include "host/training/use_weights.h"

#include "framework/artifacts/checkpoint/checkpoint.h"

namespace tenon::host {

artifacts::FoundWeights use_weights(const std::string& checkpoint, config::RunPlan& plan) {
  artifacts::FoundWeights weights = artifacts::find_weights(checkpoint, plan.run.output_dir, plan.run.name);
  // The initial weights are needed for the parameters that a checkpoint leaves out.
  if (artifacts::find_excluded_tensors(weights.file).tensors.empty()) plan.model.weights.clear();
  plan.model.checkpoint = weights.file;
  return weights;
}

}  // namespace tenon::host
