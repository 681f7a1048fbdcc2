#include "framework/pipeline/compute_losses.h"

#include <torch/torch.h>

#include <cmath>

#include "framework/support/error.h"

namespace tenon::pipeline {

namespace {

LossValue read(const plugins::Loss& loss, const plugins::Loss::Result& result, int64_t step) {
  const double weight = result.weight_tensor.defined() ? result.weight_tensor.item<double>() : result.weight;
  if (!(weight >= 0) || std::isinf(weight))
    throw support::Error(support::ErrorKind::plugin,
                         loss.component().describe() + ", forward (after step " + std::to_string(step) +
                             "): the weight is " + std::to_string(weight) +
                             "; expected the number of items that the mean was taken over, 0 or more");
  LossValue value{result.loss.item<double>(), weight, {}};
  for (const at::Tensor& part : result.parts)
    value.parts.push_back(part.defined() ? part.item<double>() : std::nan(""));
  return value;
}

}  // namespace

ComputedLosses compute_losses(Training& training, DataFlow& data, const Flow& flow,
                              const plugins::RunPosition& position) {
  ComputedLosses computed;
  for (size_t i = 0; i < training.losses.size(); ++i) {
    const std::vector<at::Tensor> inputs = data.losses[i].gather(flow);
    try {
      computed.results.push_back(training.losses[i].forward(position, inputs));
    } catch (const support::Error& error) {
      // What a loss cannot take often comes from elsewhere: a label that the dataset made, a width of the model.
      throw support::Error(error.kind(), error.what() + ("; its inputs were " + data.losses[i].describe(flow)));
    }
    computed.values.push_back(read(training.losses[i], computed.results.back(), position.step));
  }
  return computed;
}

}  // namespace tenon::pipeline
