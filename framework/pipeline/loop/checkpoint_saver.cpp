#include "framework/pipeline/loop/checkpoint_saver.h"

#include "framework/pipeline/checks/check_model.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

void CheckpointSaver::save(bool is_stopping) {
  Training& training = run_.training;
  const RunState& state = run_.loop.state;
  require_finite();
  check_ranks(training);
  events_.dispatch(Event::checkpoint_before);
  run_.requests.sync_now();  // so that the checkpoint contains the latest requests
  {
    const SavedState saved = collect_state(run_, is_stopping);
    optimization::EvaluationWeights::InPlace averaged(training.evaluation_weights.get());
    recorder_.start_checkpoint(state, training.stored_tensors(), saved);
    training.group->barrier_without_limit();  // disks may be slow
    averaged.restore();
  }
  run_.loop.checkpoint_policy.note_started(state.step);
  events_.record(LineKind::checkpoint, {});
  events_.dispatch(Event::checkpoint_after);
  run_.requests.sync_now();  // all ranks continue once the checkpoint is started, or written if not asynchronous
  run_.loop.checkpoint_policy.restart(run_.requests.time_s());
}

// A rank that finds one reports it, and the next collective of the others throws its message.
void CheckpointSaver::require_finite() const {
  const std::vector<CheckedTensor> tensors = list_checked_tensors();
  const CheckedTensor* const bad = find_non_finite(tensors);
  if (!bad) return;
  throw support::Error(support::ErrorKind::non_finite,
                       "{}: {} holds NaN or infinity after step {}; expected finite numbers: {}; no "
                       "checkpoint of this step is saved",
                       run_.training.plan->model.place, bad->name, run_.loop.state.step, bad->advice);
}

// What a checkpoint would hold: the tensors of the model, their averages, and the states of the optimizer.
std::vector<CheckedTensor> CheckpointSaver::list_checked_tensors() const {
  const Training& training = run_.training;
  const std::string lower = "lower optimizer.lr";
  std::vector<CheckedTensor> tensors;
  for (const components::NamedTensor& named : training.stored_tensors())
    tensors.push_back({named.name, named.tensor, infinite_buffers_.contains(named.name),
                       named.trainable ? lower : "look for samples that are not finite"});
  if (training.plan->train.average && training.evaluation_weights->count() > 0)
    for (const optimization::NamedTensor& one : training.evaluation_weights->weights_outside_model())
      tensors.push_back({"the average of " + one.name, one.tensor, infinite_buffers_.contains(one.name), lower});
  for (const optimization::NamedTensor& one : training.optimizer->state())
    tensors.push_back({"the optimizer state " + one.name, one.tensor, false, lower});
  return tensors;
}

void CheckpointSaver::save_after_failure(bool is_between_steps) {
  Training& training = run_.training;
  const bool can_resume = is_between_steps && training.group->is_single();
  const SavedState saved = can_resume ? collect_state(run_, /*is_stopping=*/false) : SavedState();
  if (training.evaluation_weights && training.evaluation_weights->needs_all_processes()) return;
  const optimization::EvaluationWeights::InPlace averaged(training.evaluation_weights.get());
  if (find_non_finite(list_checked_tensors())) return;
  recorder_.start_checkpoint(run_.loop.state, training.model.tensors(), saved);
  events_.record(LineKind::checkpoint, {});
}

BestCheckpoint CheckpointSaver::load_best_weights() {
  Training& training = run_.training;
  BestCheckpoint best;
  const auto read = [&] { best = recorder_.read_best_checkpoint(); };
  training.group->rank0_first(read);
  if (training.group->rank() > 0) read();
  put_weights(training.model, training.plan->model, best.model, best.excluded);
  return best;
}

}  // namespace tenon::pipeline
