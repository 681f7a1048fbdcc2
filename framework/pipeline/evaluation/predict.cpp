#include "framework/pipeline/evaluation/predict.h"

#include <torch/types.h>

#include <algorithm>
#include <vector>

#include "framework/pipeline/evaluation/test_time_augmentation.h"

namespace tenon::pipeline {

namespace {

// The samples of this process.
std::vector<int64_t> choose_batches(const std::vector<int64_t>& all, size_t batch_size, size_t rank, size_t world) {
  std::vector<int64_t> samples;
  for (size_t begin = rank * batch_size; begin < all.size(); begin += world * batch_size) {
    const size_t end = std::min(begin + batch_size, all.size());
    samples.insert(samples.end(), all.begin() + static_cast<ptrdiff_t>(begin),
                   all.begin() + static_cast<ptrdiff_t>(end));
  }
  return samples;
}

}  // namespace

bool predict(Evaluation& evaluation, BoundDataset& data, components::StepContext context,
             const std::function<bool(const Prediction&)>& take) {
  const at::NoGradGuard no_grad;
  context.training = false;
  const std::vector<int64_t> all = data.feed.sampler().common_order(0);
  const auto batch_size = static_cast<size_t>(data.feed.batch_size());
  const auto world = static_cast<size_t>(evaluation.group->size());
  const auto rank = static_cast<size_t>(evaluation.group->rank());
  const std::vector<int64_t> order = choose_batches(all, batch_size, rank, world);
  size_t first = 0;
  data.feed.start_with(order);
  for (size_t done = 0; done < all.size(); done += world * batch_size) {
    const data::Batch* batch = data.feed.next();
    if (batch) {
      const std::vector<int64_t> samples = data::list_samples(*batch, order, first);
      first += samples.size() + batch->skipped.size();
      if (batch->size > 0) {
        BatchTensors batch_tensors = data.to_batch_tensors(*batch, /*training=*/false);
        run_augmented_model(evaluation, data, batch_tensors, context);
        if (!evaluation.model.results().empty())
          batch_tensors.results = compute_results(evaluation.model, batch_tensors.outputs, context);
        if (!take({samples, batch_tensors})) return false;
        continue;
      }
    }
    if (!evaluation.group->is_single() && !take({{}, {}})) return false;
  }
  data.feed.next();  // throws if no sample could be read
  return true;
}

}  // namespace tenon::pipeline
