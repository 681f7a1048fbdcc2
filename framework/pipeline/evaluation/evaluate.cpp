#include "framework/pipeline/evaluation/evaluate.h"

#include <torch/types.h>

#include <span>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/device/readback.h"
#include "framework/pipeline/evaluation/test_time_augmentation.h"
#include "framework/pipeline/losses/loss_sums.h"

namespace tenon::pipeline {

namespace {

// The losses are added when they have arrived, which may be later.
void evaluate_batch(Evaluation& evaluation, MetricSet& metrics, BoundDataset& data, const data::Batch& batch,
                    const components::StepContext& context, Readback& readback, LossSums& sums) {
  BatchTensors batch_tensors = data.to_batch_tensors(batch, /*training=*/false);
  run_augmented_model(evaluation, data, batch_tensors, context);
  const std::vector<components::Loss::Result> losses = detach(compute_losses(evaluation, data, batch_tensors, context));
  std::vector<at::Tensor> scalars;
  append_scalars(losses, scalars);
  readback.post(scalars, [&sums, losses, context](const std::vector<double>& given) {
    std::span<const double> values(given);
    sums.add(losses, values, context);
  });
  readback.deliver_arrived();
  compute_results(evaluation, data.metrics, batch_tensors, context);
  metrics.update(context, data.metrics, batch_tensors);
}

// Combines the ranks' separate results. Returns false if any rank was interrupted.
bool combine(const Evaluation& evaluation, MetricSet& metrics, bool is_whole, LossSums& sums, int64_t& skipped) {
  if (evaluation.group->is_single()) return is_whole;
  const at::Tensor counts = at::tensor({int64_t{is_whole}, skipped}, at::kLong);
  evaluation.group->reduce(distributed::Reduction::sum, counts);
  if (counts[0].item<int64_t>() < evaluation.group->size()) return false;
  skipped = counts[1].item<int64_t>();
  std::span<const double> elements = sums.elements();
  const at::Tensor all = at::tensor(at::ArrayRef(elements.data(), elements.size()), at::kDouble);
  evaluation.group->reduce(distributed::Reduction::sum, all);
  elements = {all.const_data_ptr<double>(), elements.size()};
  sums.set(elements);
  metrics.combine(*evaluation.group);
  evaluation.group->wait_for_device(evaluation.device);
  return true;
}

}  // namespace

std::optional<NamedMetrics> evaluate(Evaluation& evaluation, BoundDataset& data, components::StepContext context,
                                     const std::function<bool(int64_t)>& after_batch) {
  return evaluate(evaluation, evaluation.metrics, data, context, after_batch);
}

std::optional<NamedMetrics> evaluate(Evaluation& evaluation, MetricSet& metrics, BoundDataset& data,
                                     components::StepContext context, const std::function<bool(int64_t)>& after_batch) {
  // Not InferenceMode: a tensor that a model computes here and keeps (such as a table of positions) must also work in
  // training.
  const at::NoGradGuard no_grad;
  context.training = false;
  LossSums sums(evaluation.losses);
  Readback readback = make_readback(evaluation);
  metrics.reset();

  int64_t done = 0, passes = 0;
  bool is_whole = true;
  // Epoch 0: every evaluation uses the same samples, so that metrics are comparable.
  data.feed.start(0);
  while (const data::Batch* batch = is_whole ? data.feed.next() : nullptr) {
    if (batch->size > 0) {
      evaluate_batch(evaluation, metrics, data, *batch, context, readback, sums);
      ++passes;
    }
    is_whole = after_batch(++done);
  }
  // The other ranks wait for this one in each batch.
  for (; context.forward_observer && passes < data.feed.batches(); ++passes) {
    if (!context.forward_observer->needs_pass()) {
      context.forward_observer->join_pass();
      continue;
    }
    BatchTensors borrowed = data.to_batch_tensors(*data.feed.borrow(), /*training=*/false);
    run_model(evaluation, data, borrowed, context);
  }
  readback.drain();
  int64_t skipped = data.feed.skipped();
  if (!combine(evaluation, metrics, is_whole, sums, skipped)) return std::nullopt;

  const std::string prefix = data.name() + "/";
  NamedMetrics metric_values{{prefix + "loss", sums.total()}};
  for (const auto& [name, value] : sums.parts()) metric_values.emplace_back(prefix + name, value);
  for (auto& value : metrics.compute(prefix, context)) metric_values.push_back(std::move(value));
  data.add_skipped(metric_values, skipped);
  return metric_values;
}

}  // namespace tenon::pipeline
