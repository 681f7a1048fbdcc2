#include "framework/pipeline/loop/run_evaluations.h"

#include <torch/types.h>

#include <utility>
#include <vector>

#include "framework/pipeline/build/metric_directions.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/evaluation/evaluate.h"

namespace tenon::pipeline {

namespace {

// Keeps the weights of a model while it has other ones.
class KeptWeights {
 public:
  // Copies the tensors to the memory of the host: the device may have no room for a second model.
  explicit KeptWeights(const components::Model& model) {
    for (const components::NamedTensor& named : model.tensors()) {
      if (!has_storage(named.tensor)) continue;  // only other ranks have it
      const at::Tensor copy =
          named.tensor.detach().to(at::kCPU, named.tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
      tensors_.emplace_back(named.tensor, copy);
    }
  }

  // Puts the values back, bit for bit.
  void restore() const {
    const at::NoGradGuard no_grad;
    for (const auto& [tensor, copy] : tensors_) at::Tensor(tensor).copy_(copy);
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> tensors_;  // of the model, and its copy
};

// After the first validation.
void check_awaited_metrics(Training& training, const RunState& state) {
  if (training.awaited_metrics.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, value] : state.metrics) names.push_back(name);
  require_awaited_metrics(std::exchange(training.awaited_metrics, {}), names);
}

// Returns the metrics of each set; fewer if a signal interrupted it.
std::vector<NamedMetrics> evaluate_validation_data(const CheckpointedRun& run, const components::StepContext& context,
                                                   RunEvents& events) {
  RunState& state = run.loop.state;
  std::vector<NamedMetrics> lines;
  for (const auto& data : run.training.validation) {
    state.validation_name = data->name();
    state.validation_batch = 0;
    state.validation_batches = data->feed.batches();
    events.dispatch(Event::validation_start);
    const auto metrics = evaluate(run.training, *data, context, [&](int64_t done) {
      state.validation_batch = done;
      events.dispatch(Event::validation_batch_end);
      return !run.requests.has_local_signal();
    });
    if (!metrics) break;
    events.remember(*metrics);
    lines.push_back(*metrics);
  }
  state.validation_name.clear();
  state.validation_batch = state.validation_batches = 0;
  return lines;
}

}  // namespace

void validate(const CheckpointedRun& run, const components::StepContext& context, RunEvents& events) {
  Training& training = run.training;
  RunState& state = run.loop.state;
  optimization::EvaluationWeights::InPlace averaged(training.evaluation_weights.get());
  std::vector<NamedMetrics> lines = evaluate_validation_data(run, context, events);
  if (lines.size() < training.validation.size() || lines.empty()) {
    averaged.restore();
    run.requests.sync_now();  // share the signal that one of the ranks received
    return;
  }
  state.validated_step = state.step;
  // Only now: the resumed run repeats an interrupted validation.
  NamedMetrics all;
  for (const NamedMetrics& line : lines) {
    training.update_schedule(line);
    all.insert(all.end(), line.begin(), line.end());
  }
  events.dispatch(Event::validation_end, &all);
  events.take_scalars(lines.back());
  check_awaited_metrics(training, state);
  for (const NamedMetrics& line : lines) {
    events.record(LineKind::validation, line);
    // All ranks have the same metrics and get the same result.
    run.loop.checkpoint_policy.observe(line, state.step);
  }
  averaged.restore();
  run.requests.sync_now();
  run.loop.validation_due.restart(run.requests.time_s());
}

std::optional<TestResults> evaluate_test_data(const CheckpointedRun& run, components::StepContext context,
                                              CheckpointSaver& checkpoint_saver, RunEvents& events) {
  Training& training = run.training;
  const InStage stage(training.times, Stage::test);
  run.requests.sync_now();  // all ranks see the same signal
  TestResults results{{}, run.loop.state.epoch, run.loop.state.step, ""};
  const bool has_best = run.loop.checkpoint_policy.best().has_value();
  std::optional<KeptWeights> before;
  if (has_best) {
    before.emplace(training.model);
    const BestCheckpoint best = checkpoint_saver.load_best_weights();
    results.epoch = best.epoch;
    results.step = best.step;
    results.monitor = training.monitor->metric;
  }
  optimization::EvaluationWeights::InPlace averaged(has_best ? nullptr : training.evaluation_weights.get());
  context.epoch = results.epoch;
  context.step = results.step;
  std::vector<NamedMetrics> lines;
  for (const auto& data : training.test) {
    if (run.requests.signal() != 0) break;
    auto metrics = evaluate(training, training.test_metrics, *data, context,
                            [&run](int64_t) { return !run.requests.has_local_signal(); });
    if (!metrics) break;
    results.metrics.insert(results.metrics.end(), metrics->begin(), metrics->end());
    lines.push_back(std::move(*metrics));
  }
  averaged.restore();
  if (before) before->restore();
  run.requests.sync_now();  // share the signal that one of the ranks received
  if (lines.size() < training.test.size()) return std::nullopt;
  events.update_time();
  for (const NamedMetrics& line : lines) events.record(LineKind::test, line);
  return results;
}

}  // namespace tenon::pipeline
