#include "framework/pipeline/checks/self_check.h"

#include <torch/types.h>

#include <cmath>
#include <optional>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/checks/check_finite.h"
#include "framework/pipeline/device/keep_random_state.h"
#include "framework/pipeline/losses/loss_sums.h"
#include "framework/precision/precision.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::pipeline {

namespace {

// Far above rounding errors of a batch mean, far below the error of a sum that loses its small terms.
constexpr double kTolerance = 0.1;

// `source`: receives why a loss is not finite; null: not needed.
LossSums compute(Training& training, const data::Batch& batch, const components::StepContext& context,
                 std::optional<NonFiniteSource>* source = nullptr) {
  BoundDataset& data = *training.train;
  BatchTensors batch_tensors = data.to_batch_tensors(batch, /*training=*/false);
  run_model(training, data, batch_tensors, context);
  LossSums sums(training.losses);
  const std::vector<components::Loss::Result> results = compute_losses(training, data, batch_tensors, context);
  sums.add(results, context);
  if (source) *source = find_source(data, batch_tensors, results);
  return sums;
}

void compare(const Training& training, size_t i, double low, double full) {
  if (std::isnan(full)) return;
  const std::string precision = to_string(training.plan->train.precision);
  const std::string text = fmt::format("the loss {} of the first batch is {:g} in {} and {:g} in fp32",
                                       training.losses[i].name(), low, precision, full);
  if (std::isfinite(full) && !std::isfinite(low))
    throw support::Error(support::ErrorKind::non_finite,
                         "{}: {}; expected a finite number: choose another train.precision, or scale the inputs",
                         training.plan->train.precision_place, text);
  if (std::abs(low - full) > kTolerance * std::max(1e-3, std::abs(full)))
    support::log_warning(text + ": train.precision may be too low for this model");
  else
    support::log_info(text);
}

// Calls `check` with the first batch and the context of an evaluation.
template <class Check>
void with_first_batch(Training& training, const Check& check) {
  const at::NoGradGuard no_grad;
  const KeepRandomState keep(c10::kCPU);  // a model may use either generator
  const KeepRandomState keep_on_device(training.device);
  components::StepContext context{false, 0, 0, 0, 1, training.plan->run.seed};
  context.forward_observer = training.parameter_shards.get();
  const data::Batch* batch = find_first_batch(training);
  if (!batch && context.forward_observer) batch = training.train->feed.borrow();  // all ranks must run the model
  if (batch) check(*batch, context);
}

void compare_precisions(Training& training, const data::Batch& batch, const components::StepContext& context) {
  const LossSums low = compute(training, batch, context);
  config::Precision& precision = training.precision;
  const config::Precision chosen = precision;
  precision = config::Precision::fp32;
  const LossSums full = compute(training, batch, context);
  precision = chosen;
  for (size_t i = 0; i < training.losses.size(); ++i) compare(training, i, low.mean(i), full.mean(i));
}

}  // namespace

void check_precision(Training& training) {
  if (!precision::autocast_dtype(training.plan->train.precision)) return;
  with_first_batch(training, [&](const data::Batch& batch, const components::StepContext& context) {
    compare_precisions(training, batch, context);
  });
}

void check_first_batch(Training& training) {
  with_first_batch(training, [&](const data::Batch& batch, const components::StepContext& context) {
    std::optional<NonFiniteSource> source;
    const LossSums sums = compute(training, batch, context, &source);
    const std::optional<size_t> loss = sums.find_non_finite();
    if (loss && !training.may_skip_steps()) refuse_loss(training, *loss, sums.mean(*loss), source, /*step=*/1, "");
  });
}

}  // namespace tenon::pipeline
