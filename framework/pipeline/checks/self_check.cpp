#include "framework/pipeline/checks/self_check.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <sstream>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/build/first_batch.h"
#include "framework/pipeline/device/keep_random_state.h"
#include "framework/precision/autocast.h"
#include "framework/support/error.h"
#include "framework/support/log.h"

namespace tenon::pipeline {

namespace {

// Far above rounding errors of a batch mean, far below the error of a sum that loses its small terms.
constexpr double kTolerance = 0.1;

std::vector<LossValue> compute(Training& training, const data::Batch& batch, const plugins::StepContext& context) {
  BoundDataset& data = *training.train;
  BatchTensors batch_tensors = data.to_batch_tensors(batch, /*training=*/false);
  run_model(training, data, batch_tensors, context);
  return PendingLosses(compute_losses(training, data, batch_tensors, context)).read_now(training.losses, context);
}

void compare(const Training& training, size_t i, const LossValue& low, const LossValue& full) {
  if (full.weight == 0) return;
  const std::string precision = to_string(training.plan->train.precision);
  std::ostringstream text;
  text << "the loss " << training.losses[i].name() << " of the first batch is " << low.mean << " in " << precision
       << " and " << full.mean << " in fp32";
  if (std::isfinite(full.mean) && !std::isfinite(low.mean))
    throw support::Error(support::ErrorKind::non_finite,
                         training.plan->train.precision_place + ": " + text.str() +
                             "; expected a finite number: choose another train.precision, or scale the inputs");
  const bool differs = std::abs(low.mean - full.mean) > kTolerance * std::max(1e-3, std::abs(full.mean));
  if (differs)
    support::log_warning(text.str() + ": train.precision may be too low for this model");
  else
    support::log_info(text.str());
}

}  // namespace

void check_precision(Training& training) {
  if (!precision::autocast_dtype(training.plan->train.precision)) return;
  const torch::NoGradGuard no_grad;
  const KeepRandomState keep(c10::kCPU);  // a model may use either generator
  const KeepRandomState keep_on_device(training.device);
  const plugins::StepContext context{false, 0, 0, 0, 1, training.plan->run.seed};
  const data::Batch* batch = find_first_batch(training);
  if (!batch) return;
  const std::vector<LossValue> low = compute(training, *batch, context);
  config::Precision& precision = training.precision;
  const config::Precision chosen = precision;
  precision = config::Precision::fp32;
  const std::vector<LossValue> full = compute(training, *batch, context);
  precision = chosen;
  for (size_t i = 0; i < low.size(); ++i) compare(training, i, low[i], full[i]);
}

}  // namespace tenon::pipeline
