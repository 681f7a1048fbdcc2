#include "framework/pipeline/evaluate.h"

#include <torch/torch.h>

#include "framework/data/sampler.h"
#include "framework/pipeline/loss_meter.h"

namespace tenon::pipeline {

std::vector<std::pair<std::string, double>> evaluate(Training& training, DataFlow& data, plugins::RunPosition position,
                                                     const std::function<void(int64_t)>& after_batch) {
  const c10::InferenceMode inference;
  position.training = false;
  LossMeter meter(training.losses);
  for (plugins::Metric& metric : training.metrics) metric.reset();

  int64_t done = 0;
  data.loader.start(data::sequential_order(data.dataset.size()), position.epoch);
  while (const data::Batch* batch = data.loader.next()) {
    Flow flow = data.to_flow(*batch);
    flow.outputs = training.model.forward(position, data.model.front().gather(flow));
    std::vector<plugins::Loss::Result> results;
    for (size_t i = 0; i < training.losses.size(); ++i)
      results.push_back(training.losses[i].forward(position, data.losses[i].gather(flow)));
    meter.add(results);
    for (size_t i = 0; i < training.metrics.size(); ++i)
      training.metrics[i].update(position, data.metrics[i].gather(flow));
    after_batch(++done);
  }

  const std::string prefix = data.dataset.name() + "/";
  std::vector<std::pair<std::string, double>> figures{{prefix + "loss", meter.read_total()}};
  for (const auto& [name, value] : meter.read_parts()) figures.emplace_back(prefix + name, value);
  for (size_t i = 0; i < training.metrics.size(); ++i) {
    const std::vector<double> values = training.metrics[i].compute(position);
    for (size_t k = 0; k < values.size(); ++k) figures.emplace_back(prefix + training.figure_names[i][k], values[k]);
  }
  return figures;
}

}  // namespace tenon::pipeline
