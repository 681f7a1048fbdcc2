#include "framework/pipeline/state/divided_weights.h"

#include <algorithm>
#include <unordered_map>

#include "framework/distributed/collectives/assign_owners.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/support/error.h"

namespace tenon::pipeline {

std::vector<optimization::NamedTensor> list_tensors(const plugins::Model& model, bool only_trainable) {
  std::vector<optimization::NamedTensor> listed;
  for (const plugins::NamedTensor& named : model.tensors()) {
    const bool is_listed =
        std::ranges::any_of(listed, [&](const auto& other) { return other.tensor.is_same(named.tensor); });
    if ((named.trainable || !only_trainable) && !is_listed) listed.push_back({named.name, named.tensor});
  }
  return listed;
}

// Counts elements, because conversions to the precision of the run change the bytes.
std::vector<int64_t> assign_weights(const std::vector<optimization::NamedTensor>& parameters, int64_t ranks) {
  std::vector<int64_t> elements;
  for (const optimization::NamedTensor& named : parameters) elements.push_back(named.tensor.numel());
  return distributed::assign_owners(elements, ranks);
}

void require_equal_weights(const std::vector<plugins::NamedTensor>& tensors, const plugins::Model& model,
                           const config::ModelSection& plan, distributed::ProcessGroup& group) {
  std::vector<at::Tensor> compared;
  for (const plugins::NamedTensor& named : tensors) compared.push_back(named.tensor);
  const auto unequal = group.find_unequal(compared);
  if (!unequal) return;
  throw support::Error(
      support::ErrorKind::plugin,
      plan.place + ": " + model.component().describe() + ": " + tensors[*unequal].name +
          " is not the same on all ranks; expected equal weights: initialise them with LibTorch's generator, which "
          "has the same seed on all ranks, and update them only from the gradients");
}

void divide_weights(const plugins::Model& model, const config::ModelSection& plan, distributed::ProcessGroup& group) {
  require_equal_weights(model.tensors(), model, plan, group);
  std::unordered_map<const void*, size_t> users_of_memory;
  const std::vector<optimization::NamedTensor> all = list_tensors(model, /*only_trainable=*/false);
  for (const optimization::NamedTensor& named : all) ++users_of_memory[named.tensor.storage().unsafeGetStorageImpl()];
  const std::vector<optimization::NamedTensor> parameters = list_tensors(model, /*only_trainable=*/true);
  const std::vector<int64_t> owners = assign_weights(parameters, group.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& tensor = parameters[i].tensor;
    const bool is_alone = users_of_memory[tensor.storage().unsafeGetStorageImpl()] == 1;
    if (owners[i] != group.rank() && is_alone && can_free_storage(tensor)) free_storage(tensor);
  }
}

std::vector<plugins::NamedTensor> select_present(const std::vector<plugins::NamedTensor>& tensors) {
  std::vector<plugins::NamedTensor> present = tensors;
  std::erase_if(present, [](const plugins::NamedTensor& named) { return !has_storage(named.tensor); });
  return present;
}

}  // namespace tenon::pipeline
