// Graphs of an archive that export_model.py --compile compiled ahead of time with Inductor, PyTorch's compiler: a
// shared library for evaluation, and two for training, which are the forward and the backward of one autograd function.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/models/exported/archive.h"
#include "plugins/models/exported/schema.h"

namespace exported {

// The index of each weight and constant that a compiled graph may read, by its name.
struct CompiledNames {
  const std::map<std::string, size_t>& weights;
  const std::vector<std::string>& constants;  // of the program
};

class CompiledGraph;

// The compiled graphs of an archive. Every function is thread-safe.
class CompiledModel {
 public:
  // Loads the machine code of the archive. Throws tenon::DataError if the archive has none or it is malformed, and
  // Unusable if it was made for another processor or LibTorch.
  CompiledModel(Archive& archive, const CompiledNames& training, const CompiledNames& evaluation);
  ~CompiledModel();

  // The reason why the compiled graph cannot compute this call, or nothing. The graph itself then has to run.
  std::optional<std::string> find_obstacle(bool is_training, const std::vector<at::Tensor>& weights,
                                           const std::vector<at::Tensor>& inputs) const;

  // Returns the outputs for the user. REQUIRES: find_obstacle() returned nothing.
  std::vector<at::Tensor> run(bool is_training, const std::vector<at::Tensor>& weights,
                              const std::vector<at::Tensor>& constants, const std::vector<at::Tensor>& inputs) const;

  struct Unusable {
    std::string reason;
  };

 private:
  bool is_bf16_ = false;
  std::unique_ptr<CompiledGraph> training_, evaluation_;
};

}  // namespace exported
