#include "framework/pipeline/checks/zero_output_losses.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <string>
#include <utility>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/device/keep_random_state.h"
#include "framework/support/error.h"
#include "framework/support/log.h"

namespace tenon::pipeline {

std::optional<std::vector<plugins::Loss::Result>> compute_zero_output_losses(Training& training, BoundDataset& data,
                                                                             const BatchTensors& batch_tensors,
                                                                             plugins::StepContext context) {
  const torch::NoGradGuard no_grad;
  context.training = false;  // so that losses that count their training calls do not count this one
  const KeepRandomState keep(c10::kCPU);
  const KeepRandomState keep_on_device(training.device);
  BatchTensors zero_output{batch_tensors.fields, {}};
  for (const at::Tensor& output : batch_tensors.outputs)
    zero_output.outputs.push_back(at::isFloatingType(output.scalar_type()) ? at::zeros_like(output) : output);
  try {
    return compute_losses(training, data, zero_output, context);
  } catch (const support::Error& error) {
    support::log_info(std::string("cannot compute the loss expected for zero outputs: ") + error.what());
    return std::nullopt;
  }
}

}  // namespace tenon::pipeline
