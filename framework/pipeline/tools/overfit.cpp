#include "framework/pipeline/tools/overfit.h"

#include <torch/types.h>

#include <algorithm>
#include <limits>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/loop/train_step.h"
#include "framework/pipeline/losses/loss_sums.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::pipeline {

namespace {

// The parameters that have not received a gradient yet.
class Unreached {
 public:
  explicit Unreached(const std::vector<optimization::NamedTensor>& parameters) {
    for (const optimization::NamedTensor& parameter : parameters)
      if (parameter.tensor.requires_grad()) left_.push_back(parameter);  // the others are frozen
  }

  void look() {
    std::erase_if(left_, [](const optimization::NamedTensor& parameter) {
      const at::Tensor& gradient = parameter.tensor.grad();
      return gradient.defined() && gradient.count_nonzero().item<int64_t>() > 0;
    });
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const optimization::NamedTensor& parameter : left_) names.push_back(parameter.name);
    return names;
  }

 private:
  std::vector<optimization::NamedTensor> left_;
};

bool is_constant(const at::Tensor& output) {
  if (output.dim() == 0 || output.size(0) < 2) return false;
  return at::equal(output, output.narrow(0, 0, 1).expand_as(output));
}

std::vector<std::string> find_constant_outputs(Training& training, const data::Batch& batch,
                                               components::StepContext context) {
  const at::NoGradGuard no_grad;
  context.training = false;
  BoundDataset& data = *training.train;
  BatchTensors batch_tensors = data.to_batch_tensors(batch, /*training=*/false);
  run_model(training, data, batch_tensors, context);
  std::vector<std::string> names;
  for (size_t i = 0; i < batch_tensors.outputs.size(); ++i)
    if (is_constant(batch_tensors.outputs[i])) names.push_back(training.model.outputs()[i].name);
  return names;
}

}  // namespace

OverfitReport overfit(Training& training, int64_t steps, double threshold) {
  TENON_CHECK(training.plan->train.accumulate == 1, "several batches a step");
  Unreached unreached(training.optimizer->parameters());
  LossSums losses(training.losses);
  TrainStep step(
      training,
      [&](Event event) {
        if (event == Event::grads_ready) unreached.look();
      },
      [&](const StepMetrics& metrics) {
        losses.reset();
        for (const LossSums& batch : metrics.losses) losses.add(batch);
      });
  OverfitReport report{false, 0, 0, 0, std::numeric_limits<double>::infinity(), 0, {}, {}};
  components::StepContext context{true, 0, 1, 0, 1, training.plan->run.seed};
  training.optimizer->start_epoch(1);
  while (report.steps < steps && !report.is_reached) {
    context.step = report.steps++;
    const data::Batch& batch = read_first_batch(training);
    report.samples = batch.size;
    step.run_batch(batch, context);
    step.finish_step({training.plan->optimizer.lr}, /*with_norm=*/false);
    step.drain();
    report.last_loss = losses.total();
    if (report.steps == 1) report.first_loss = report.last_loss;
    report.lowest_loss = std::min(report.lowest_loss, report.last_loss);
    report.is_reached = report.last_loss < threshold;
  }
  report.without_gradient = unreached.names();
  report.constant_outputs = find_constant_outputs(training, read_first_batch(training), context);
  return report;
}

}  // namespace tenon::pipeline
