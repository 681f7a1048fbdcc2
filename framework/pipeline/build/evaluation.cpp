#include "framework/pipeline/build/evaluation.h"

#include <torch/types.h>

#include <utility>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/build/build_components.h"

namespace tenon::pipeline {

void BoundDataset::add_skipped(NamedMetrics& metric_values, int64_t skipped) const {
  if (feed.may_skip()) metric_values.emplace_back(name() + "/skipped_samples", skipped);
}

BatchTensors BoundDataset::to_batch_tensors(const data::Batch& batch, bool training) {
  BatchTensors batch_tensors = view_batch(batch, feed.dataset().fields());
  batch_tensors.data = this;
  batch_tensors.batch = &batch;
  transforms.check(batch_tensors.fields);
  batch_tensors.host_fields = batch_tensors.fields;
  copies.copy(batch_tensors.fields, training ? is_read : std::vector<bool>());
  transforms.apply(batch_tensors.fields, training, feed.batch_seed());
  return batch_tensors;
}

Evaluation build_evaluation(const config::RunPlan& plan, const components::Catalogue& catalogue,
                            const support::ComputeDevice& device, distributed::ProcessGroup& group) {
  Evaluation evaluation = build_components(plan, catalogue, device, group, /*trains=*/false);
  build_validation_data(evaluation, catalogue);
  if (device.is_cuda() && !evaluation.validation.empty())
    choose_cudnn_benchmark(plan, evaluation.validation.front()->feed.dataset().fields());
  return evaluation;
}

Readback make_readback(const Evaluation& evaluation) {
  Readback::WaitUntil wait_until;
  if (!evaluation.group->is_single())
    wait_until = [group = evaluation.group](const std::function<bool()>& is_done) { group->wait_until(is_done); };
  return Readback(evaluation.device, evaluation.readback_lag, std::move(wait_until));
}

}  // namespace tenon::pipeline
