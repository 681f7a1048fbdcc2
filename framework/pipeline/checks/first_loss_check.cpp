#include "framework/pipeline/checks/first_loss_check.h"

#include <torch/types.h>

#include <span>
#include <string>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/device/keep_random_state.h"
#include "framework/pipeline/losses/loss_sums.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::pipeline {

namespace {

std::vector<components::Loss::Result> compute_zero_output_losses(Training& training, BoundDataset& data,
                                                                 const BatchTensors& batch_tensors,
                                                                 const components::StepContext& context) {
  const at::NoGradGuard no_grad;
  const KeepRandomState keep(c10::kCPU);
  const KeepRandomState keep_on_device(training.device);
  BatchTensors zero_output{batch_tensors.fields, {}};
  zero_output.lengths = batch_tensors.lengths;
  for (const at::Tensor& output : batch_tensors.outputs)
    zero_output.outputs.push_back(at::isFloatingType(output.scalar_type()) ? at::zeros_like(output) : output);
  return compute_losses(training, data, zero_output, context);
}

}  // namespace

void FirstLossCheck::start(BoundDataset& data, const BatchTensors& batch_tensors,
                           const std::vector<components::Loss::Result>& results, components::StepContext context) {
  context.training = false;  // so that losses that count their training calls do not count this one
  std::vector<components::Loss::Result> zero_output;
  try {
    zero_output = compute_zero_output_losses(training_, data, batch_tensors, context);
  } catch (const support::Error& error) {
    support::log_info(std::string("cannot compute the loss expected for zero outputs: ") + error.what());
    return;
  }
  const std::vector<components::Loss::Result> found = detach(results);
  std::vector<at::Tensor> scalars;
  append_scalars(found, scalars);
  append_scalars(zero_output, scalars);
  readback_.post(scalars, [this, found, zero_output, context](const std::vector<double>& given) {
    std::span<const double> values(given);
    const auto read = [&](const std::vector<components::Loss::Result>& batch) {
      LossSums sums(training_.losses);
      sums.add(batch, values, context);
      return sums.total();
    };
    const double of_batch = read(found);  // its values come first
    result_ = {of_batch, read(zero_output)};
  });
}

const std::optional<FirstLoss>& FirstLossCheck::result() {
  readback_.deliver_arrived();
  return result_;
}

}  // namespace tenon::pipeline
