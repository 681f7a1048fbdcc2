#include "framework/pipeline/checks/check_ranks.h"

#include <algorithm>

#include "framework/pipeline/state/divided_weights.h"

namespace tenon::pipeline {

void check_ranks(const Training& training) {
  std::vector<components::NamedTensor> tensors = training.model.tensors();
  // Divided weights have been compared before.
  if (training.parameter_shards)
    std::erase_if(tensors, [](const auto& named) { return named.trainable || named.is_frozen_parameter; });
  require_equal_weights(tensors, training.model, training.plan->model, *training.group);
}

}  // namespace tenon::pipeline
