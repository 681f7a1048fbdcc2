#include "framework/pipeline/loop/checkpointed_run.h"

#include <string>
#include <utility>

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
  run.step.load(saved);
  run.requests.load(saved, run.loop.run.time_s, run.loop.run.rank == 0);
  if (states.empty()) return;  // a rank that the saved run did not have
  run.requests.load_reason(states.at(kReason));
  if (!run.loop.epoch_metrics) run.training.train_metrics.load(states);
  run.loop.skipped_in_epoch = std::stoll(states.at(kSkipped));
  visit_states(run.observers, [&](const std::string& name, Observer& observer, const std::string&) {
    if (const auto found = states.find(name); found != states.end()) observer.load_state(found->second);
  });
}

}  // namespace tenon::pipeline
