#include "framework/pipeline/build/compute_losses.h"

#include <torch/types.h>

#include <cmath>

#include "framework/pipeline/device/readback.h"
#include "framework/precision/autocast.h"
#include "framework/support/error.h"

namespace tenon::pipeline {

namespace {

// Converts the inputs to the memory format and dtype of the weights.
at::Tensor to_layout(const Training& training, at::Tensor input) {
  const bool is_bf16 = training.plan->train.precision == config::Precision::bf16_true;
  if (is_bf16 && input.is_floating_point()) input = input.to(at::kBFloat16);
  if (training.memory_format == config::MemoryFormat::channels_last && input.dim() == 4)
    input = input.contiguous(at::MemoryFormat::ChannelsLast);
  return input;
}

}  // namespace

void run_model(Training& training, BoundDataset& data, BatchTensors& batch_tensors,
               const plugins::StepContext& context) {
  const precision::Autocast autocast(training.precision, training.device.type());
  std::vector<at::Tensor> inputs = data.model.front().gather(batch_tensors);
  for (at::Tensor& input : inputs) input = to_layout(training, std::move(input));
  batch_tensors.outputs = training.model.forward(context, inputs);
}

std::vector<plugins::Loss::Result> compute_losses(Training& training, BoundDataset& data,
                                                  const BatchTensors& batch_tensors,
                                                  const plugins::StepContext& context) {
  const precision::Autocast autocast(training.precision, training.device.type());
  std::vector<plugins::Loss::Result> results;
  results.reserve(training.losses.size());
  for (size_t i = 0; i < training.losses.size(); ++i) {
    const std::vector<at::Tensor> inputs = data.losses[i].gather(batch_tensors);
    try {
      results.push_back(training.losses[i].forward(context, inputs));
    } catch (const support::Error& error) {
      // The cause is often elsewhere: a label from the dataset, a width of the model.
      throw support::Error(error.kind(),
                           error.what() + ("; its inputs were " + data.losses[i].describe(batch_tensors)));
    }
  }
  return results;
}

// Detached, because the values may be read long after the graph is freed.
PendingLosses::PendingLosses(const std::vector<plugins::Loss::Result>& results) {
  results_.reserve(results.size());
  for (const plugins::Loss::Result& result : results) {
    results_.push_back({result.loss.variable_data(), result.weight_tensor, result.weight, {}});
    for (const at::Tensor& part : result.parts)
      results_.back().parts.push_back(part.defined() ? part.variable_data() : part);
  }
}

void PendingLosses::add_scalars_to(std::vector<at::Tensor>& scalars) const {
  for (const Result& result : results_) {
    scalars.push_back(result.loss);
    if (result.weight_tensor.defined()) scalars.push_back(result.weight_tensor);
    for (const at::Tensor& part : result.parts)
      if (part.defined()) scalars.push_back(part);
  }
}

std::vector<LossValue> PendingLosses::read(const std::vector<plugins::Loss>& losses, std::span<const double>& values,
                                           const plugins::StepContext& context) const {
  std::vector<LossValue> read;
  read.reserve(results_.size());
  for (size_t i = 0; i < results_.size(); ++i) {
    const double mean = take_value(values);
    const double weight = results_[i].weight_tensor.defined() ? take_value(values) : results_[i].weight;
    if (!(weight >= 0) || std::isinf(weight))
      throw support::Error(support::ErrorKind::plugin,
                           losses[i].component().describe() + ", forward (" + context.at()() + "): the weight is " +
                               std::to_string(weight) +
                               "; expected the number of items that the mean was taken over, 0 or more");
    LossValue& value = read.emplace_back(LossValue{mean, weight, {}});
    for (const at::Tensor& part : results_[i].parts)
      value.parts.push_back(part.defined() ? take_value(values) : std::nan(""));
  }
  return read;
}

std::vector<LossValue> PendingLosses::read_now(const std::vector<plugins::Loss>& losses,
                                               const plugins::StepContext& context) const {
  std::vector<at::Tensor> scalars;
  add_scalars_to(scalars);
  std::vector<double> numbers;
  numbers.reserve(scalars.size());
  for (const at::Tensor& scalar : scalars) numbers.push_back(read_scalar(scalar));
  std::span<const double> values(numbers);
  return read(losses, values, context);
}

}  // namespace tenon::pipeline
