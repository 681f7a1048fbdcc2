#include "framework/pipeline/loop/training_state.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <set>

#include "framework/pipeline/device/keep_random_state.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/frozen_parameters.h"
#include "framework/pipeline/state/stored_tensors.h"
#include "framework/support/compute/philox.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

namespace {

constexpr const char* kRandom = "random.cpu";
constexpr const char* kRandomOfDevice = "random.device";
constexpr const char* kChannelsLast = "channels_last";

std::string name_of_rank(int64_t rank) { return "rank" + std::to_string(rank) + "."; }

// Copies `stored` into the tensors of the same names, except into those that only other ranks have. Throws if
// the names differ: then it is another model.
void copy_into(const std::vector<optimization::NamedTensor>& tensors,
               const std::vector<optimization::NamedTensor>& stored) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> by_name;
  for (const optimization::NamedTensor& one : stored) by_name[one.name] = one.tensor;
  const auto refuse = [](const std::string& name, const std::string& what) {
    throw support::Error(support::ErrorKind::checkpoint,
                         "the checkpoint's tensor " + name + " " + what + "; expected a checkpoint of the same model");
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

std::vector<optimization::NamedTensor> tensors_of(const components::Model& model) {
  std::vector<optimization::NamedTensor> tensors;
  for (const components::NamedTensor& named : model.tensors()) tensors.push_back({named.name, named.tensor});
  return tensors;
}

}  // namespace

void put_weights(const components::Model& model, const config::ModelSection& plan,
                 const std::vector<optimization::NamedTensor>& stored, const artifacts::ExcludedTensors& excluded) {
  require_excluded(model, plan, excluded);
  std::vector<optimization::NamedTensor> tensors = tensors_of(model);
  std::erase_if(tensors, [&](const optimization::NamedTensor& named) {
    return std::ranges::find(excluded.tensors, named.name, &artifacts::ExcludedTensor::name) != excluded.tensors.end();
  });
  copy_into(tensors, stored);
}

void save_training(const Training& training, const RankState& given, SavedState& saved) {
  for (const optimization::NamedTensor& entry : training.optimizer->state())
    saved.tensors[kOptimizerPrefix + entry.name] = entry.tensor;
  for (const auto& [name, value] : training.schedule.state()) saved.numbers["schedule." + name] = value;
  if (training.scaler)
    for (const auto& [name, tensor] : training.scaler->state()) saved.tensors["loss_scaler." + name] = tensor;
  if (training.average) {
    saved.numbers["average.count"] = static_cast<double>(training.average->count());
    if (training.average->count() > 0) {
      std::set<std::string> stored;
      for (const components::NamedTensor& named : training.stored_tensors()) stored.insert(named.name);
      for (const optimization::NamedTensor& one : training.average->weights_outside_model())
        if (stored.contains(one.name)) saved.tensors[kWeightsPrefix + one.name] = one.tensor;
    }
  }
  saved.numbers[kChannelsLast] = training.memory_format == config::MemoryFormat::channels_last;
  RankState states = given;
  states[kRandom] = to_bytes(get_rng_state(c10::kCPU));
  if (!training.device.is_cpu()) states[kRandomOfDevice] = to_bytes(get_rng_state(training.device));
  saved.numbers["world_size"] = static_cast<double>(training.group->size());
  for (const auto& [name, bytes] : states) {
    const std::vector<std::string> of_ranks = training.group->gather(name, bytes);
    for (size_t rank = 0; rank < of_ranks.size(); ++rank)
      saved.put_bytes(name_of_rank(static_cast<int64_t>(rank)) + name, of_ranks[rank]);
  }
}

config::MemoryFormat saved_memory_format(const SavedState& saved) {
  return saved.count(kChannelsLast) != 0 ? config::MemoryFormat::channels_last : config::MemoryFormat::contiguous;
}

RankState load_training(Training& training, const std::vector<optimization::NamedTensor>& model,
                        const artifacts::ExcludedTensors& excluded, const SavedState& saved) {
  {
    if (training.average) training.average->set_count(saved.count("average.count"));
    optimization::EvaluationWeights::InPlace averaged(training.average.get());
    put_weights(training.model, training.plan->model, model, excluded);
    if (training.average && training.average->count() > 0) {
      std::vector<optimization::NamedTensor> tensors = training.average->weights_outside_model();
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

RankState read_rank_state(const SavedState& saved, int64_t rank) {
  RankState states;
  const std::string prefix = name_of_rank(rank);
  for (const optimization::NamedTensor& one : saved.tensors_under(prefix))
    states[one.name] = saved.bytes(prefix + one.name);
  return states;
}

}  // namespace tenon::pipeline
