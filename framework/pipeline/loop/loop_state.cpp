#include "framework/pipeline/loop/loop_state.h"

#include <cmath>

#include "framework/pipeline/device/device_memory.h"

namespace tenon::pipeline {

namespace {

const std::string kMetricPrefix = "metric.";
constexpr const char* kMissesValidation = "validation.is_missed";  // only there if it is
const std::string kEpochMetricPrefix = "epoch_metric.";

}  // namespace

LoopState::LoopState(const Training& of)
    : training(of),
      step_losses(of.losses),
      log_losses(of.losses),
      epoch_losses(of.losses),
      log_due(of.plan->log.every),
      validation_due(of.plan->validation.every),
      checkpoints(of) {
  if (of.plan->train.average) average_due = Due(of.plan->train.average->every);
  if (of.group) {
    run.rank = static_cast<uint32_t>(of.group->rank());
    run.world_size = static_cast<uint32_t>(of.group->size());
  }
  run.total_steps = of.total_steps;
  run.steps_per_epoch = of.steps_per_epoch;
  run.total_epochs = (of.total_steps + of.steps_per_epoch - 1) / of.steps_per_epoch;
  run.learning_rate = of.schedule.rates(0).learning_rate;
  run.directions = find_directions(of);
  for (const auto& [name, direction] : of.train_metrics.directions("train/")) run.epoch_metrics.push_back(name);
}

void LoopState::take(const StepMetrics& metrics) {
  skipped_steps += metrics.was_skipped ? 1 : 0;
  loss_scale = metrics.loss_scale;
  gradient_norm = metrics.gradient_norm;
  step_losses.reset();
  for (const LossSums& batch : metrics.losses) {
    if (batch.find_non_finite()) continue;
    log_losses.add(batch);
    epoch_losses.add(batch);
    step_losses.add(batch);
  }
  run.step_loss = step_losses.total();
}

NamedMetrics LoopState::metrics(const LossSums& losses) const {
  NamedMetrics metrics{{"train/loss", losses.total()}};
  for (const auto& [name, value] : losses.parts()) metrics.emplace_back("train/" + name, value);
  metrics.emplace_back("train/learning_rate", run.learning_rate);
  if (!std::isnan(gradient_norm)) metrics.emplace_back("train/gradient_norm", gradient_norm);
  if (training.scaler) metrics.emplace_back("train/loss_scale", loss_scale);
  if (training.may_skip_steps()) metrics.emplace_back("train/skipped_steps", skipped_steps);
  if (const auto peak = peak_memory(training.device)) metrics.emplace_back("train/device_memory_mib", peak->allocated);
  return metrics;
}

// Saving and loading share this list, so that neither omits an entry.
template <class Self, class Visit>
void LoopState::visit_counters(Self& self, Visit&& visit) {
  visit("epoch", self.run.epoch);
  visit("step", self.run.step);
  visit("step_in_epoch", self.run.step_in_epoch);
  visit("samples_in_epoch", self.run.samples_in_epoch);
  visit("batches_in_epoch", self.batches_in_epoch);
  visit("is_epoch_complete", self.run.is_epoch_complete);
  visit("has_epoch_ended", self.has_epoch_ended);
  visit("validated_step", self.run.validated_step);
  visit("time_s", self.run.time_s);
  visit("learning_rate", self.run.learning_rate);
  visit("step_loss", self.run.step_loss);
  visit("gradient_norm", self.gradient_norm);
  visit("loss_scale", self.loss_scale);
  visit("skipped_steps", self.skipped_steps);
}

void LoopState::save(SavedState& saved) const {
  visit_counters(*this, [&](const char* name, auto value) { saved.numbers[name] = static_cast<double>(value); });
  for (const auto& [name, value] : run.metrics) saved.numbers[kMetricPrefix + name] = value;
  if (epoch_metrics)
    for (const auto& [name, value] : *epoch_metrics) saved.numbers[kEpochMetricPrefix + name] = value;
  log_due.save("log", saved);
  validation_due.save("validation", saved);
  if (misses_validation) saved.numbers[kMissesValidation] = 1;
  if (average_due) average_due->save("average", saved);
  checkpoints.save(saved);
  log_losses.save("log", saved);
  epoch_losses.save("epoch", saved);
}

void LoopState::load(const SavedState& saved) {
  visit_counters(*this, [&]<class T>(const char* name, T& value) { value = static_cast<T>(saved.number(name)); });
  for (const auto& [name, value] : saved.numbers)
    if (name.starts_with(kMetricPrefix)) run.metrics[name.substr(kMetricPrefix.size())] = value;
  for (const auto& [name, value] : saved.numbers) {
    if (!name.starts_with(kEpochMetricPrefix)) continue;
    if (!epoch_metrics) epoch_metrics.emplace();
    epoch_metrics->emplace_back(name.substr(kEpochMetricPrefix.size()), value);
  }
  log_due.load("log", saved);
  validation_due.load("validation", saved);
  misses_validation = saved.numbers.contains(kMissesValidation);
  if (average_due) average_due->load("average", saved);
  log_losses.load("log", saved);
  epoch_losses.load("epoch", saved);
  checkpoints.load(saved, run.step);
}

}  // namespace tenon::pipeline
