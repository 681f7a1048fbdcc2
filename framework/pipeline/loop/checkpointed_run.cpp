#include "framework/pipeline/loop/checkpointed_run.h"

#include <string>
#include <utility>

#include "framework/pipeline/build/total_steps.h"
#include "framework/pipeline/loop/training_state.h"

namespace tenon::pipeline {

namespace {

const std::string kReason = "reason";
const std::string kSkipped = "skipped";

// Visits the observers that have a state, with that state.
template <class Visit>
void visit_states(const std::vector<Observer*>& observers, Visit&& visit) {
  size_t number = 0;
  for (Observer* observer : observers) {
    std::string bytes = observer->save_state();
    if (!bytes.empty()) visit("callback." + std::to_string(number++), *observer, std::move(bytes));
  }
}

// The schedule of a run that began with other batches keeps its lengths.
void restore_schedule(Training& training, const StepCount& steps) {
  const int64_t per_epoch = steps.first_per_epoch();
  if (per_epoch == training.steps_per_epoch) return;
  const config::RunPlan& plan = *training.plan;
  const auto state = training.schedule.state();
  training.schedule = optimization::Schedule::make(plan.schedule, plan.optimizer.lr,
                                                   {count_total_steps(plan.train, per_epoch), per_epoch});
  training.schedule.load_state(state);
}

// If the number of ranks has changed, the first one continues with what all of them have seen of the epoch.
void merge_rank_states(const CheckpointedRun& run, const SavedState& saved, int64_t ranks) {
  const bool has_metrics = !run.loop.epoch_metrics;
  if (has_metrics) run.training.train_metrics.reset();
  if (run.loop.run.rank > 0) return;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const RankState states = read_rank_state(saved, rank);
    run.loop.skipped_in_epoch += std::stoll(states.at(kSkipped));
    if (has_metrics) run.training.train_metrics.add(states);
  }
}

}  // namespace

SavedState save_run(const CheckpointedRun& run, bool is_stopping) {
  SavedState saved;
  run.requests.save(saved, is_stopping);
  run.loop.save(saved);
  run.step.save(saved);
  RankState states{{kReason, run.requests.reason()}, {kSkipped, std::to_string(run.training.train->feed.skipped())}};
  if (!run.loop.epoch_metrics) states.merge(run.training.train_metrics.save());
  visit_states(run.observers,
               [&](const std::string& name, Observer&, std::string bytes) { states[name] = std::move(bytes); });
  save_training(run.training, states, saved);
  return saved;
}

void load_run(const CheckpointedRun& run, const std::vector<optimization::NamedTensor>& model,
              const artifacts::ExcludedTensors& excluded, const SavedState& saved) {
  const RankState states = load_training(run.training, model, excluded, saved);
  run.loop.load(saved);
  restore_schedule(run.training, run.loop.steps);
  run.step.load(saved);
  run.requests.load(saved, run.loop.run.time_s, run.loop.run.rank == 0);
  const int64_t ranks = saved.count("world_size");
  if (ranks != static_cast<int64_t>(run.loop.run.world_size)) {
    merge_rank_states(run, saved, ranks);
  } else {
    if (!run.loop.epoch_metrics) run.training.train_metrics.load(states);
    run.loop.skipped_in_epoch = std::stoll(states.at(kSkipped));
  }
  // A rank that the saved run did not have continues with the callbacks of the first one.
  const RankState of_callbacks = states.empty() ? read_rank_state(saved, 0) : states;
  run.requests.load_reason(of_callbacks.at(kReason));
  visit_states(run.observers, [&](const std::string& name, Observer& observer, const std::string&) {
    if (const auto found = of_callbacks.find(name); found != of_callbacks.end()) observer.load_state(found->second);
  });
}

}  // namespace tenon::pipeline
