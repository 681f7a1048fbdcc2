#include "framework/pipeline/check_ranks.h"

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
          " is not the same on all ranks; expected equal weights: initial ones come from LibTorch's generator, which "
          "has one seed on all ranks, and an update depends on nothing but the gradients");
}

}  // namespace tenon::pipeline
