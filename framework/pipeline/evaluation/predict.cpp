#include "framework/pipeline/evaluation/predict.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "framework/pipeline/build/compute_losses.h"

namespace tenon::pipeline {

bool predict(Evaluation& evaluation, BoundDataset& data, plugins::StepContext context,
             const std::function<bool(const Prediction&)>& take) {
  const torch::NoGradGuard no_grad;
  context.training = false;
  const std::vector<int64_t> order = data.feed.sampler().order(0);
  size_t first = 0;
  data.feed.start(0);
  while (const data::Batch* batch = data.feed.next()) {
    const std::vector<int64_t> samples = data::list_samples(*batch, order, first);
    first += samples.size() + batch->skipped.size();
    if (batch->size == 0) continue;
    BatchTensors batch_tensors = data.to_batch_tensors(*batch, /*training=*/false);
    run_model(evaluation, data, batch_tensors, context);
    if (!take({samples, batch_tensors})) return false;
  }
  return true;
}

}  // namespace tenon::pipeline
