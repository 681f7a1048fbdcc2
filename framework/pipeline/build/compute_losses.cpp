#include "framework/pipeline/build/compute_losses.h"

#include <torch/types.h>

#include <algorithm>
#include <string_view>

#include "framework/operators/batch_norm.h"
#include "framework/precision/precision.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::pipeline {

namespace {

std::vector<at::Tensor> call_model(Evaluation& evaluation, const components::StepContext& context,
                                   const std::vector<at::Tensor>& inputs) {
  try {
    return evaluation.model.forward(context, inputs);
  } catch (const support::Error& error) {
    // Plugins pass LibTorch's errors on as text.
    if (std::string_view(error.what()).find(operators::kOneValuePerChannel) == std::string_view::npos) throw;
    throw OneValuePerChannel(evaluation.plan->model.place, error.what());
  }
}

// Padding changes what a model computes of an image, unless each pixel has an output, which the targets then ignore.
void warn_of_padding(const Evaluation& evaluation, BoundDataset& data, const BatchTensors& batch_tensors) {
  constexpr size_t kImageDimensions = 4;  // with that of the samples
  if (data.has_warned_of_padding || batch_tensors.host_fields.empty()) return;
  if (!evaluation.group->world().is_first()) return;
  const std::vector<data::Batch::Field>& fields = batch_tensors.batch->fields;
  for (const Source& source : data.model.front().sources()) {
    if (source.index >= fields.size() || !fields[source.index].is_padded) continue;
    const std::vector<int64_t> images = batch_tensors.fields[source.index].sizes().vec();
    const auto is_per_pixel = [&](const at::Tensor& output) {
      return output.dim() >= 2 && output.size(-2) == images.end()[-2] && output.size(-1) == images.end()[-1];
    };
    if (images.size() < kImageDimensions || std::ranges::any_of(batch_tensors.outputs, is_per_pixel)) continue;
    data.has_warned_of_padding = true;
    support::log_warning(
        "{}: the images in the field {} of a batch differ in size and are padded to {} x {}, and no output of {} has "
        "that size, so the results depend on the batch size and on which images share a batch; expected images of one "
        "size: end the transforms with \"center_crop(N)\", or resize to a height and a width with \"resize((H, W))\"; "
        "or use batches of one image",
        data.name(), data.feed.dataset().fields()[source.index].name, images.end()[-2], images.end()[-1],
        evaluation.model.component().describe());
  }
}

}  // namespace

OneValuePerChannel::OneValuePerChannel(const std::string& place, const std::string& found)
    : Error(support::ErrorKind::non_finite,
            "{}: {}; the variance of one value is undefined: set data.drop_last = true if the last batch of an epoch "
            "has 1 sample, or use a larger data.batch_size or larger images",
            place, found),
      found_(found) {}

at::Tensor to_layout(config::Precision precision, config::MemoryFormat memory_format, at::Tensor input) {
  if (precision == config::Precision::bf16_true && input.is_floating_point()) input = input.to(at::kBFloat16);
  if (memory_format == config::MemoryFormat::channels_last && input.dim() == 4)
    input = input.contiguous(at::MemoryFormat::ChannelsLast);
  return input;
}

void run_model(Evaluation& evaluation, BoundDataset& data, BatchTensors& batch_tensors,
               const components::StepContext& context) {
  const precision::Autocast autocast(evaluation.precision, evaluation.device.type());
  std::vector<at::Tensor> inputs = data.model.front().gather(batch_tensors);
  for (at::Tensor& input : inputs) input = to_layout(evaluation.precision, evaluation.memory_format, std::move(input));
  if (context.forward_observer) context.forward_observer->start_pass(context.training);
  batch_tensors.outputs = call_model(evaluation, context, inputs);
  if (context.forward_observer) context.forward_observer->end_pass(context.training);
  warn_of_padding(evaluation, data, batch_tensors);
}

void compute_results(const Evaluation& evaluation, const std::vector<Wiring>& inputs, BatchTensors& batch_tensors,
                     const components::StepContext& context) {
  if (std::ranges::any_of(inputs, &Wiring::needs_results))
    batch_tensors.results = compute_results(evaluation.model, batch_tensors.outputs, context);
}

std::vector<components::Loss::Result> compute_losses(Evaluation& evaluation, BoundDataset& data,
                                                     const BatchTensors& batch_tensors,
                                                     const components::StepContext& context) {
  const precision::Autocast autocast(evaluation.precision, evaluation.device.type());
  std::vector<components::Loss::Result> results;
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

const data::Batch* find_first_batch(Training& training) {
  training.train->feed.start(1);
  const data::Batch* batch = training.train->feed.next();
  return batch && batch->size > 0 ? batch : nullptr;
}

const data::Batch& read_first_batch(Training& training) {
  const data::Batch* batch = find_first_batch(training);
  if (!batch)
    throw support::Error(support::ErrorKind::data, training.plan->data.train.place +
                                                       ": no sample of the first batch can be read; expected at least "
                                                       "one; `host data` reads only the samples and shows why");
  return *batch;
}

}  // namespace tenon::pipeline
