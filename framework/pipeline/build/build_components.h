// The parts that building an evaluation and a training have in common.
#pragma once

#include <memory>
#include <vector>

#include "framework/pipeline/build/evaluation.h"

namespace tenon::pipeline {

// Builds the model, the losses and the metrics. `trains`: the training data is prepared too.
Evaluation build_components(const config::RunPlan& plan, const components::Catalogue& catalogue,
                            const support::ComputeDevice& compute_device, distributed::ProcessGroup& group,
                            bool trains);

// Creates the model with its initial weights: from the seed, then model.weights, then the checkpoint of the plan. The
// tensors are on the CPU, in the model's dtypes. `divided_over`: the ranks that divide the weights, see
// build_divided(); null: this process has all weights.
components::Model build_initial_model(const config::RunPlan& plan, const components::Catalogue& catalogue,
                                      distributed::ProcessGroup* divided_over = nullptr);

// build_initial_model(), then with the precision and the memory format of the plan on the device. From here on
// LibTorch's generator is that of training, which differs between ranks.
components::Model build_model(const config::RunPlan& plan, const components::Catalogue& catalogue,
                              const c10::Device& device, int64_t rank = 0,
                              distributed::ProcessGroup* divided_over = nullptr);

// Builds a dataset and connects it to the model, the losses and the metrics. The first one may be opened already.
std::unique_ptr<BoundDataset> build_data(Evaluation& evaluation, const components::Catalogue& catalogue,
                                         const config::NamedDataset& dataset, const MetricSet& metrics);

void build_validation_data(Evaluation& evaluation, const components::Catalogue& catalogue);

// For train.cudnn_benchmark = "auto". `fields`: of the dataset that most batches come from.
void choose_cudnn_benchmark(const config::RunPlan& plan, const std::vector<components::SampleField>& fields);

}  // namespace tenon::pipeline
