#include "host/training/open_evaluation.h"

#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/class_names.h"
#include "framework/support/error.h"
#include "host/training/use_class_names.h"

namespace tenon::host {

namespace {

// The chosen data becomes validation data: it is read once, without shuffling.
void choose_data(config::RunPlan& plan, const std::string& name) {
  if (!name.empty()) {
    plan.data.validation = std::vector<config::NamedDataset>{find_dataset(plan, name)};
  } else if (plan.data.validation.empty()) {
    throw support::Error(support::ErrorKind::configuration,
                         plan.file.string() + ": has no [data.validation]; expected one, or --data train");
  }
}

OpenedRun open_for(const RunFile& file, const std::string& dataset, Evaluation::Of of) {
  OpenedRun run = open_run(file, Computes::yes);
  choose_data(run.plan, dataset);
  if (of == Evaluation::Of::outputs) {
    run.plan.losses.clear();
    run.plan.metrics.clear();
    run.plan.data.validation_limit_batches = 0;
  }
  return run;
}

artifacts::FoundWeights find_weights_for(const std::string& checkpoint, config::RunPlan& plan) {
  artifacts::FoundWeights weights = artifacts::find_weights(checkpoint, plan.run.output_dir, plan.run.name);
  plan.model.weights = weights.file;
  // model.weights_match applies only to the initial weights of a run. Here all tensors of the model must match.
  plan.model.weights_match = config::WeightsMatch::strict;
  plan.model.weights_exclude.clear();
  use_class_names(plan, artifacts::read_class_names(weights.file), weights.file.string());
  return weights;
}

}  // namespace

Evaluation::Evaluation(const RunFile& file, const Choice& choice, Of of)
    : run_(open_for(file, choice.dataset, of)),
      weights_(find_weights_for(choice.checkpoint, run_.plan)),
      parts_(pipeline::build_evaluation(run_.plan, run_.catalogue, run_.device.device)) {}

plugins::StepContext Evaluation::context() const {
  return {false, weights_.step, weights_.epoch, 0, 1, run_.plan.run.seed};
}

std::string Evaluation::describe_weights() const {
  if (weights_.checkpoint.empty()) return weights_.file.string();
  return weights_.checkpoint.string() + " (epoch " + std::to_string(weights_.epoch) + ", step " +
         std::to_string(weights_.step) + ")";
}

}  // namespace tenon::host
