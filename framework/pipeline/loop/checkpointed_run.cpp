#include "framework/pipeline/loop/checkpointed_run.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "framework/pipeline/device/keep_random_state.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/frozen_parameters.h"
#include "framework/pipeline/state/step_count.h"
#include "framework/support/compute/philox.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace {

const std::string kReason = "reason";
const std::string kSkipped = "skipped";

// The state of a single rank, as bytes by name.
using RankState = std::map<std::string, std::string>;

constexpr const char* kRandom = "random.cpu";
constexpr const char* kRandomOfDevice = "random.device";
constexpr const char* kChannelsLast = "channels_last";

std::string name_of_rank(int64_t rank) { return fmt::format("rank{}.", rank); }

// Copies `stored` into the tensors of the same names, except into those that only other ranks have. Throws if
// the names differ: then it is another model.
void copy_into(const std::vector<optimization::NamedTensor>& tensors,
               const std::vector<optimization::NamedTensor>& stored) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> by_name;
  for (const optimization::NamedTensor& one : stored) by_name[one.name] = one.tensor;
  const auto refuse = [](const std::string& name, const std::string& what) {
    throw support::Error(support::ErrorKind::checkpoint,
                         "the checkpoint's tensor {} {}; expected a checkpoint of the same model", name, what);
  };
  for (const optimization::NamedTensor& one : tensors) {
    const auto found = by_name.find(one.name);
    if (found == by_name.end()) refuse(one.name, "is missing");
    if (found->second.sizes() != one.tensor.sizes() || found->second.scalar_type() != one.tensor.scalar_type())
      refuse(one.name, "has another shape or dtype than the model's");
    if (has_storage(one.tensor)) at::Tensor(one.tensor).copy_(found->second);
    by_name.erase(found);
  }
  if (!by_name.empty()) refuse(by_name.begin()->first, "is not a tensor of the model");
}

// The weights that only other ranks average.
std::vector<optimization::NamedTensor> list_averaged_elsewhere(const Training& training) {
  std::vector<optimization::NamedTensor> weights;
  const optimization::Optimizer& optimizer = *training.optimizer;
  for (size_t i = 0; i < optimizer.parameters().size(); ++i) {
    const bool is_frozen = optimizer.parameter_rates()[i].is_always_frozen();
    if (!is_frozen && !has_storage(optimizer.parameters()[i].tensor)) weights.push_back(optimizer.parameters()[i]);
  }
  return weights;
}

// Saves everything but the model's tensors. The tensors of `saved` are those of the training itself, not copies. With
// several ranks all call it, each with its state under the same names, and rank 0 receives everything except the
// optimizer's state and the weights of other ranks, see OptimizerShards and ParameterShards.
//
// If there is an average, the checkpoint's model contains the averaged weights, and the training weights are stored
// here as `weights.<name>`.
void save_training(const Training& training, const RankState& given, SavedState& saved) {
  for (const optimization::NamedTensor& entry : training.optimizer->state())
    saved.tensors[kOptimizerPrefix + entry.name] = entry.tensor;
  for (const auto& [name, value] : training.schedule.state()) saved.numbers["schedule." + name] = value;
  if (training.scaler)
    for (const auto& [name, tensor] : training.scaler->state()) saved.tensors["loss_scaler." + name] = tensor;
  if (training.evaluation_weights) {
    saved.numbers["average.count"] = static_cast<double>(training.evaluation_weights->count());
    if (training.evaluation_weights->count() > 0) {
      std::set<std::string> stored;
      for (const components::NamedTensor& named : training.stored_tensors()) stored.insert(named.name);
      for (const optimization::NamedTensor& one : training.evaluation_weights->weights_outside_model())
        if (stored.contains(one.name)) saved.tensors[kWeightsPrefix + one.name] = one.tensor;
    }
  }
  saved.numbers[kChannelsLast] = training.memory_format == config::MemoryFormat::channels_last;
  RankState states = given;
  states[kRandom] = to_bytes(get_rng_state(c10::kCPU));
  if (!training.device.is_cpu()) states[kRandomOfDevice] = to_bytes(get_rng_state(training.device));
  saved.numbers[kWorldSize] = static_cast<double>(training.group->size());
  for (const auto& [name, bytes] : states) {
    const std::vector<std::string> of_ranks = training.group->gather(name, bytes);
    for (size_t rank = 0; rank < of_ranks.size(); ++rank)
      saved.put_bytes(name_of_rank(static_cast<int64_t>(rank)) + name, of_ranks[rank]);
  }
}

// The state of this rank of the run that wrote the checkpoint; empty if it had none.
RankState read_rank_state(const SavedState& saved, int64_t rank) {
  RankState states;
  const std::string prefix = name_of_rank(rank);
  for (const optimization::NamedTensor& one : saved.tensors_under(prefix))
    states[one.name] = saved.bytes(prefix + one.name);
  return states;
}

// Restores the state and the tensors that were saved as the model. `excluded`: see put_weights(). Returns this rank's
// state, which is empty for a rank that the saved run did not have; its random numbers are new ones.
RankState load_training(Training& training, const std::vector<optimization::NamedTensor>& model,
                        const artifacts::ExcludedTensors& excluded, const SavedState& saved) {
  {
    if (training.evaluation_weights) training.evaluation_weights->set_count(saved.count("average.count"));
    optimization::EvaluationWeights::InPlace averaged(training.evaluation_weights.get());
    put_weights(training.model, training.plan->model, model, excluded);
    if (training.evaluation_weights && training.evaluation_weights->count() > 0) {
      std::vector<optimization::NamedTensor> tensors = training.evaluation_weights->weights_outside_model();
      for (const optimization::NamedTensor& one : list_averaged_elsewhere(training)) tensors.push_back(one);
      copy_into(tensors, saved.tensors_under(kWeightsPrefix));
    }
    averaged.restore();
  }
  training.optimizer->load_state(saved.tensors_under(kOptimizerPrefix));
  std::map<std::string, double> schedule;
  for (const auto& [name, value] : training.schedule.state()) schedule[name] = saved.number("schedule." + name);
  training.schedule.load_state(schedule);
  if (training.scaler) {
    const at::NoGradGuard no_grad;
    for (const auto& [name, tensor] : training.scaler->state())
      at::Tensor(tensor).copy_(saved.tensor("loss_scaler." + name));
  }
  const int64_t rank = training.group->rank();
  const RankState states = read_rank_state(saved, rank);
  if (!states.contains(kRandom))  // other numbers than at the start of the run
    torch::manual_seed(support::derive_seed(training.plan->run.seed + static_cast<uint64_t>(rank),
                                            support::StreamPurpose::training, 0,
                                            static_cast<uint64_t>(saved.count("step"))));
  else
    set_rng_state(c10::kCPU, to_byte_tensor(states.at(kRandom)));
  if (!training.device.is_cpu() && states.contains(kRandomOfDevice))
    set_rng_state(training.device, to_byte_tensor(states.at(kRandomOfDevice)));
  return states;
}

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
  if (run.loop.state.rank > 0) return;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const RankState states = read_rank_state(saved, rank);
    run.loop.skipped_in_epoch += std::stoll(states.at(kSkipped));
    if (has_metrics) run.training.train_metrics.add(states);
  }
}

}  // namespace

void put_weights(const components::Model& model, const config::ModelSection& plan,
                 const std::vector<optimization::NamedTensor>& stored, const artifacts::ExcludedTensors& excluded) {
  require_excluded(model, plan, excluded);
  std::vector<optimization::NamedTensor> tensors;
  for (const components::NamedTensor& named : model.tensors())
    if (std::ranges::find(excluded.tensors, named.name, &artifacts::ExcludedTensor::name) == excluded.tensors.end())
      tensors.push_back({named.name, named.tensor});
  copy_into(tensors, stored);
}

config::MemoryFormat saved_memory_format(const SavedState& saved) {
  return saved.count(kChannelsLast) != 0 ? config::MemoryFormat::channels_last : config::MemoryFormat::contiguous;
}

SavedState collect_state(const CheckpointedRun& run, bool is_stopping) {
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
  run.requests.load(saved, run.loop.state.time_s, run.loop.state.rank == 0);
  const int64_t ranks = saved.count(kWorldSize);
  if (ranks != static_cast<int64_t>(run.loop.state.world_size)) {
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
