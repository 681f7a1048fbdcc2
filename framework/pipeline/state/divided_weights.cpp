#include "framework/pipeline/state/divided_weights.h"

#include <algorithm>
#include <unordered_map>

#include "framework/distributed/collectives/owned_tensors.h"
#include "framework/optimization/parameter_rates.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

std::vector<optimization::NamedTensor> list_tensors(const components::Model& model, bool only_trainable) {
  std::vector<optimization::NamedTensor> listed;
  for (const components::NamedTensor& named : model.tensors()) {
    const bool is_listed =
        std::ranges::any_of(listed, [&](const auto& other) { return other.tensor.is_same(named.tensor); });
    if ((named.trainable || !only_trainable) && !is_listed) listed.push_back({named.name, named.tensor});
  }
  return listed;
}

std::vector<int64_t> DividedWeights::owners_of(const std::vector<optimization::NamedTensor>& given) const {
  std::unordered_map<const c10::TensorImpl*, int64_t> owner_of;
  for (size_t i = 0; i < tensors.size(); ++i) owner_of[tensors[i].tensor.unsafeGetTensorImpl()] = owners[i];
  std::vector<int64_t> found;
  for (const optimization::NamedTensor& named : given) {
    const auto owner = owner_of.find(named.tensor.unsafeGetTensorImpl());
    found.push_back(owner == owner_of.end() ? 0 : owner->second);
  }
  return found;
}

DividedWeights assign_weights(const components::Model& model, const config::RunPlan& plan, int64_t ranks) {
  // A frozen parameter takes 4 bytes, and another one 16 with a gradient and the states of AdamW. Elements are counted,
  // because conversions to the precision of the run change the bytes.
  constexpr int64_t kTrained = 4, kFrozen = 1;
  DividedWeights divided;
  std::vector<int64_t> sizes;
  const auto add = [&](const std::string& name, const at::Tensor& tensor, bool is_frozen) {
    if (is_frozen && plan.checkpoint.exclude_frozen_parameters) return;
    divided.tensors.push_back({name, tensor});
    sizes.push_back(tensor.numel() * (is_frozen ? kFrozen : kTrained));
  };
  const std::vector<optimization::NamedTensor> trainable = list_tensors(model, /*only_trainable=*/true);
  std::vector<optimization::ParameterShape> shapes;
  for (const optimization::NamedTensor& named : trainable) shapes.push_back({named.name, named.tensor.dim()});
  if (shapes.empty()) return divided;
  const auto rates = optimization::assign_rates(plan.optimizer, shapes);
  for (size_t i = 0; i < trainable.size(); ++i)
    add(trainable[i].name, trainable[i].tensor, rates[i].is_always_frozen());
  for (const components::NamedTensor& named : model.tensors()) {
    const bool is_added = std::ranges::any_of(
        divided.tensors, [&](const optimization::NamedTensor& other) { return other.tensor.is_same(named.tensor); });
    if (named.is_frozen_parameter && !is_added) add(named.name, named.tensor, /*is_frozen=*/true);
  }
  divided.owners = distributed::assign_owners(sizes, ranks);
  return divided;
}

void require_equal_weights(const std::vector<components::NamedTensor>& tensors, const components::Model& model,
                           const config::ModelSection& plan, distributed::ProcessGroup& group) {
  std::vector<at::Tensor> compared;
  for (const components::NamedTensor& named : tensors) compared.push_back(named.tensor);
  const auto unequal = group.find_unequal(compared);
  if (!unequal) return;
  throw support::Error(
      support::ErrorKind::plugin,
      "{}: {}: {} is not the same on all ranks; expected equal weights: initialise them with LibTorch's generator, "
      "which has the same seed on all ranks, and update them only from the gradients",
      plan.place, model.component().describe(), tensors[*unequal].name);
}

}  // namespace tenon::pipeline
