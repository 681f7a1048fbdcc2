#include "framework/pipeline/loop/loop_state.h"

#include <algorithm>
#include <cmath>

#include "framework/pipeline/device/device_memory.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

namespace {

const std::string kMetricPrefix = "metric.";
constexpr const char* kMissesValidation = "validation.is_missed";  // only there if it is
const std::string kEpochMetricPrefix = "epoch_metric.";
constexpr const char* kBatchSize = "batch_size";
constexpr const char* kAccumulate = "accumulate";
// Only there for an epoch that other ranks began.
constexpr const char* kRestPlaces = "epoch_rest.places";
constexpr const char* kRestBatches = "epoch_rest.batches";
constexpr const char* kRestTotalBatch = "epoch_rest.total_batch";
constexpr const char* kRestBatchNumber = "epoch_rest.batch_number";

int64_t divide_up(int64_t dividend, int64_t divisor) { return (dividend + divisor - 1) / divisor; }

}  // namespace

LoopState::LoopState(const Training& of)
    : training(of),
      steps(of.steps_per_epoch),
      step_losses(of.losses),
      log_losses(of.losses),
      epoch_losses(of.losses),
      log_due(of.plan->log.every),
      validation_due(of.plan->validation.every),
      checkpoint_policy(of) {
  if (of.plan->train.average) average_due = Due(of.plan->train.average->every);
  state.rank = static_cast<uint32_t>(of.group->rank());
  state.world_size = static_cast<uint32_t>(of.group->size());
  count_steps();
  state.learning_rate = of.schedule.rates(0).learning_rate;
  state.directions = find_directions(of);
  for (const auto& [name, direction] : of.train_metrics.directions("train/")) state.epoch_metrics.push_back(name);
}

void LoopState::count_steps() {
  const int64_t epochs = training.plan->train.epochs;
  state.total_steps = epochs > 0 ? steps.after_epochs(epochs) : training.total_steps;
  state.steps_per_epoch = steps.per_epoch();
  state.total_epochs = epochs > 0 ? epochs : steps.epochs_after(training.total_steps);
}

bool LoopState::advance_average(double time_s) {
  if (!average_due) return true;  // the optimizer averages in each step
  const config::Period& start = training.plan->train.average->start;
  const auto passed =
      static_cast<double>(start.unit == config::Period::Unit::epochs ? state.epoch - 1 : state.step - 1);
  const bool has_begun = start.unit == config::Period::Unit::never || passed >= start.count;
  return average_due->advance(state, time_s) && has_begun;
}

void LoopState::require_samples() const {
  if (state.samples_in_epoch > 0) return;
  throw support::Error(support::ErrorKind::data,
                       "{}: no rank could read any of its samples, see the logs; expected data.on_error = \"skip\" to "
                       "leave at least one: fix the data",
                       training.train->name());
}

int64_t LoopState::schedule_step() const {
  return training.plan->train.epochs > 0 ? steps.position(state.step) : state.step;
}

void LoopState::add_results(const StepMetrics& metrics) {
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
  state.step_loss = step_losses.total();
}

NamedMetrics LoopState::metrics(const LossSums& losses) const {
  NamedMetrics metrics{{"train/loss", losses.total()}};
  for (const auto& [name, value] : losses.parts()) metrics.emplace_back("train/" + name, value);
  metrics.emplace_back("train/learning_rate", state.learning_rate);
  if (!std::isnan(gradient_norm)) metrics.emplace_back("train/gradient_norm", gradient_norm);
  if (training.scaler) metrics.emplace_back("train/loss_scale", loss_scale);
  if (training.may_skip_steps()) metrics.emplace_back("train/skipped_steps", skipped_steps);
  if (const auto peak = peak_memory(training.device)) metrics.emplace_back("train/device_memory_mib", peak->allocated);
  return metrics;
}

// Saving and loading share this list, so that neither omits an entry.
template <class Self, class Visit>
void LoopState::visit_counters(Self& self, Visit&& visit) {
  visit("epoch", self.state.epoch);
  visit("step", self.state.step);
  visit("step_in_epoch", self.state.step_in_epoch);
  visit("samples_in_epoch", self.state.samples_in_epoch);
  visit("batches_in_epoch", self.batches_in_epoch);
  visit("is_epoch_complete", self.state.is_epoch_complete);
  visit("has_epoch_ended", self.has_epoch_ended);
  visit("validated_step", self.state.validated_step);
  visit("time_s", self.state.time_s);
  visit("learning_rate", self.state.learning_rate);
  visit("step_loss", self.state.step_loss);
  visit("gradient_norm", self.gradient_norm);
  visit("loss_scale", self.loss_scale);
  visit("skipped_steps", self.skipped_steps);
}

void LoopState::save_epoch(SavedState& saved) const {
  saved.numbers[kBatchSize] = static_cast<double>(training.plan->data.batch_size);
  saved.numbers[kAccumulate] = static_cast<double>(training.plan->train.accumulate);
  steps.save(saved);
  if (rest.total_batch == 0) return;
  saved.numbers[kRestPlaces] = static_cast<double>(rest.places);
  saved.numbers[kRestBatches] = static_cast<double>(rest.batches);
  saved.numbers[kRestTotalBatch] = static_cast<double>(rest.total_batch);
  saved.numbers[kRestBatchNumber] = static_cast<double>(rest.batch_number);
}

void LoopState::load_epoch(const SavedState& saved) {
  steps.load(saved);
  if (saved.numbers.contains(kRestTotalBatch))
    rest = {saved.count(kRestPlaces), saved.count(kRestBatches), saved.count(kRestTotalBatch),
            saved.count(kRestBatchNumber)};
  const int64_t world = saved.count(kWorldSize), batch_size = saved.count(kBatchSize);
  const int64_t accumulate = training.plan->train.accumulate;
  const bool has_same_batches = world == static_cast<int64_t>(state.world_size) &&
                                batch_size == training.plan->data.batch_size && saved.count(kAccumulate) == accumulate;
  if (!has_same_batches) {
    rest = data::rest_after(rest, batches_in_epoch, batch_size, world);
    batches_in_epoch = 0;
  }
  if (!has_same_batches || steps.per_epoch() != training.steps_per_epoch) {
    const bool is_within_epoch = state.epoch > 0 && !state.is_epoch_complete;
    const int64_t batches = is_within_epoch ? training.train->feed.batches(rest) - batches_in_epoch : 0;
    const int64_t left = divide_up(batches, accumulate);
    steps.change(training.steps_per_epoch, state.epoch, state.step + left);
    state.step_in_epoch = std::max<int64_t>(steps.per_epoch() - left, 0);
  }
  count_steps();
}

// Checkpoints of earlier versions lack these two.
template <class Self, class Visit>
void LoopState::visit_times(Self& self, Visit&& visit) {
  visit("epoch_start_s", self.state.epoch_start_s);
  visit("epoch_validation_s", self.state.epoch_validation_s);
}

void LoopState::save(SavedState& saved) const {
  visit_times(*this, [&](const char* name, double value) { saved.numbers[name] = value; });
  visit_counters(*this, [&](const char* name, auto value) { saved.numbers[name] = static_cast<double>(value); });
  save_epoch(saved);
  for (const auto& [name, value] : state.metrics) saved.numbers[kMetricPrefix + name] = value;
  if (epoch_metrics)
    for (const auto& [name, value] : *epoch_metrics) saved.numbers[kEpochMetricPrefix + name] = value;
  log_due.save("log", saved);
  validation_due.save("validation", saved);
  if (misses_validation) saved.numbers[kMissesValidation] = 1;
  if (average_due) average_due->save("average", saved);
  checkpoint_policy.save(saved);
  log_losses.save("log", saved);
  epoch_losses.save("epoch", saved);
}

void LoopState::load(const SavedState& saved) {
  visit_times(*this, [&](const char* name, double& value) {
    if (saved.numbers.contains(name)) value = saved.number(name);
  });
  visit_counters(*this, [&]<class T>(const char* name, T& value) { value = static_cast<T>(saved.number(name)); });
  load_epoch(saved);
  for (const auto& [name, value] : saved.numbers)
    if (name.starts_with(kMetricPrefix)) state.metrics[name.substr(kMetricPrefix.size())] = value;
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
  checkpoint_policy.load(saved, state.step);
}

}  // namespace tenon::pipeline
