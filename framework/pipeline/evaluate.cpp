#include "framework/pipeline/evaluate.h"

#include <torch/torch.h>

#include <span>

#include "framework/pipeline/combine_metrics.h"
#include "framework/pipeline/compute_losses.h"
#include "framework/pipeline/loss_sums.h"
#include "framework/pipeline/readback.h"

namespace tenon::pipeline {

namespace {

using TakeLosses = std::function<void(const std::vector<LossValue>&)>;

// `take`: called when the losses have come, which may be later.
void evaluate_batch(Training& training, DataFlow& data, const data::Batch& batch, const plugins::RunPosition& position,
                    Readback& readback, const TakeLosses& take) {
  Flow flow = data.to_flow(batch, /*training=*/false);
  run_model(training, data, flow, position);
  const LossReading losses(compute_losses(training, data, flow, position));
  std::vector<at::Tensor> scalars;
  losses.add_scalars_to(scalars);
  readback.post(scalars, [&training, &take, losses, position](const std::vector<double>& given) {
    std::span<const double> values(given);
    take(losses.read(training.losses, values, position));
  });
  readback.settle();
  for (size_t i = 0; i < training.metrics.size(); ++i)
    training.metrics[i].update(position, data.metrics[i].gather(flow));
}

// Each rank has its own batches until here. False where one was interrupted.
bool combine(Training& training, LossSums& sums, bool is_whole, LossMeter& meter, int64_t& skipped) {
  const at::Tensor counts = at::tensor({int64_t{is_whole}, skipped}, at::kLong);
  training.group->reduce(distributed::Reduction::sum, counts);
  if (counts[0].item<int64_t>() < training.group->size()) return false;
  skipped = counts[1].item<int64_t>();
  const at::Tensor all = sums.tensor();
  training.group->reduce(distributed::Reduction::sum, all);
  const at::Tensor here = all.cpu();
  std::span<const double> elements(here.const_data_ptr<double>(), static_cast<size_t>(here.numel()));
  meter.add(sums.read(elements));
  for (plugins::Metric& metric : training.metrics) combine_states(metric, *training.group);
  return true;
}

}  // namespace

std::optional<NamedFigures> evaluate(Training& training, DataFlow& data, plugins::RunPosition position,
                                     const std::function<bool(int64_t)>& after_batch) {
  // Not InferenceMode: what a model computes here and keeps (a table of positions) must serve training too.
  const torch::NoGradGuard no_grad;
  position.training = false;
  LossMeter meter(training.losses);
  LossSums sums(training.losses, training.device);
  const TakeLosses take = [&](const std::vector<LossValue>& values) {
    if (training.group)
      sums.add(values);
    else
      meter.add(values);
  };
  Readback readback(training.device, training.readback_lag);
  for (plugins::Metric& metric : training.metrics) metric.reset();

  int64_t done = 0;
  bool is_whole = true;
  // Epoch 0: the same samples whenever the model is evaluated, for figures that can be compared.
  data.feed.start(0);
  while (const data::Batch* batch = is_whole ? data.feed.next() : nullptr) {
    if (batch->size > 0) evaluate_batch(training, data, *batch, position, readback, take);
    is_whole = after_batch(++done);
  }
  readback.drain();
  int64_t skipped = data.feed.skipped();
  if (training.group) is_whole = combine(training, sums, is_whole, meter, skipped);
  if (!is_whole) return std::nullopt;

  const std::string prefix = data.name() + "/";
  NamedFigures figures{{prefix + "loss", meter.total()}};
  for (const auto& [name, value] : meter.parts()) figures.emplace_back(prefix + name, value);
  for (size_t i = 0; i < training.metrics.size(); ++i) {
    const std::vector<double> values = training.metrics[i].compute(position);
    for (size_t k = 0; k < values.size(); ++k) figures.emplace_back(prefix + training.figure_names[i][k], values[k]);
  }
  data.add_skipped(figures, skipped);
  return figures;
}

}  // namespace tenon::pipeline
