// The tensors of an archive: weights with their names in state_dict(), and constants.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "plugins/models/exported/archive.h"

namespace exported {

struct StoredTensor {
  std::string record;  // equal for names that share one tensor
  at::Tensor tensor;   // dense, on the CPU
  bool is_trained;     // a parameter that requires a gradient
  bool is_parameter;   // false: a buffer
};
using StoredTensors = std::map<std::string, StoredTensor>;

// Reads the tensors that a configuration such as data/weights/model_weights_config.json lists. `prefix` is the folder
// of their records. Throws tenon::DataError.
StoredTensors read_tensors(Archive& archive, const std::string& config, const std::string& prefix);

}  // namespace exported
