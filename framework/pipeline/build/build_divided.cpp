#include "framework/pipeline/build/build_divided.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/build/check_storable.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/divided_weights.h"

namespace tenon::pipeline {

namespace {

// The owners of the divided weights that the host initialises, by name. `model`: not built yet.
std::map<std::string, int64_t> assign_declared(components::Model model, const config::RunPlan& plan,
                                               distributed::ProcessGroup& group) {
  model.build_without_memory();
  check_storable(model.tensors(), plan.model.place + ": " + model.component().describe());
  std::string description;
  for (const components::NamedTensor& named : model.tensors())
    description += named.name + " " + components::describe(named.tensor) + "\n";
  group.require_equal("the tensors of the model", description);
  const DividedWeights divided = assign_weights(model, plan, group.size());
  std::map<std::string, int64_t> owners;
  for (size_t i = 0; i < divided.tensors.size(); ++i)
    if (divided.tensors[i].tensor.is_meta()) owners[divided.tensors[i].name] = divided.owners[i];
  return owners;
}

// Frees the memory of tensors that the plugin has created and other ranks have.
void free_others(const components::Model& model, const config::RunPlan& plan, const distributed::ProcessGroup& group) {
  std::unordered_map<const void*, size_t> users_of_memory;
  for (const optimization::NamedTensor& named : list_tensors(model, /*only_trainable=*/false))
    ++users_of_memory[named.tensor.storage().unsafeGetStorageImpl()];
  const DividedWeights divided = assign_weights(model, plan, group.size());
  for (size_t i = 0; i < divided.tensors.size(); ++i) {
    const at::Tensor& tensor = divided.tensors[i].tensor;
    const bool is_alone = users_of_memory[tensor.storage().unsafeGetStorageImpl()] == 1;
    if (divided.owners[i] != group.rank() && is_alone && can_free_storage(tensor)) free_storage(tensor);
  }
}

}  // namespace

components::Model build_divided(const std::function<components::Model()>& create, const config::RunPlan& plan,
                                distributed::ProcessGroup& group) {
  const std::map<std::string, int64_t> owners = assign_declared(create(), plan, group);
  components::Model model = create();
  model.build([&](const std::string& name, const at::Tensor& tensor) {
    const auto owner = owners.find(name);
    if (owner != owners.end() && owner->second != group.rank() && can_free_storage(tensor)) free_storage(tensor);
  });
  std::vector<components::NamedTensor> others = model.tensors();
  std::erase_if(others, [&](const components::NamedTensor& named) { return owners.contains(named.name); });
  require_equal_weights(others, model, plan.model, group);
  free_others(model, plan, group);
  return model;
}

}  // namespace tenon::pipeline
