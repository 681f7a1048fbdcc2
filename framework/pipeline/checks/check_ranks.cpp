#include "framework/pipeline/checks/check_ranks.h"

#include "framework/support/error.h"

namespace tenon::pipeline {

void check_ranks(const Training& training) {
  if (!training.group) return;
  std::vector<at::Tensor> tensors;
  for (const plugins::NamedTensor& named : training.model.tensors()) tensors.push_back(named.tensor);
  const auto unequal = training.group->find_unequal(tensors);
  if (!unequal) return;
  throw support::Error(
      support::ErrorKind::plugin,
      training.plan->model.place + ": " + training.model.component().describe() + ": " +
          training.model.tensors()[*unequal].name +
          " is not the same on all ranks; expected equal weights: initialise them with LibTorch's generator, which "
          "has the same seed on all ranks, and update them only from the gradients");
}

}  // namespace tenon::pipeline
