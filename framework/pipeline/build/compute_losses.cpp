#include "framework/pipeline/build/compute_losses.h"

#include <torch/types.h>

#include "framework/precision/autocast.h"
#include "framework/support/error.h"

namespace tenon::pipeline {

namespace {

// Converts the inputs to the memory format and dtype of the weights.
at::Tensor to_layout(const Evaluation& evaluation, at::Tensor input) {
  const bool is_bf16 = evaluation.plan->train.precision == config::Precision::bf16_true;
  if (is_bf16 && input.is_floating_point()) input = input.to(at::kBFloat16);
  if (evaluation.memory_format == config::MemoryFormat::channels_last && input.dim() == 4)
    input = input.contiguous(at::MemoryFormat::ChannelsLast);
  return input;
}

}  // namespace

void run_model(Evaluation& evaluation, BoundDataset& data, BatchTensors& batch_tensors,
               const plugins::StepContext& context) {
  const precision::Autocast autocast(evaluation.precision, evaluation.device.type());
  std::vector<at::Tensor> inputs = data.model.front().gather(batch_tensors);
  for (at::Tensor& input : inputs) input = to_layout(evaluation, std::move(input));
  if (context.observer) context.observer->start_pass(context.training);
  batch_tensors.outputs = evaluation.model.forward(context, inputs);
  if (context.observer) context.observer->end_pass(context.training);
}

std::vector<plugins::Loss::Result> compute_losses(Evaluation& evaluation, BoundDataset& data,
                                                  const BatchTensors& batch_tensors,
                                                  const plugins::StepContext& context) {
  const precision::Autocast autocast(evaluation.precision, evaluation.device.type());
  std::vector<plugins::Loss::Result> results;
  results.reserve(evaluation.losses.size());
  for (size_t i = 0; i < evaluation.losses.size(); ++i) {
    const std::vector<at::Tensor> inputs = data.losses[i].gather(batch_tensors);
    try {
      results.push_back(evaluation.losses[i].forward(context, inputs));
    } catch (const support::Error& error) {
      // The cause is often elsewhere: a label from the dataset, a width of the model.
      throw support::Error(error.kind(),
                           error.what() + ("; its inputs were " + data.losses[i].describe(batch_tensors)));
    }
  }
  return results;
}

}  // namespace tenon::pipeline
