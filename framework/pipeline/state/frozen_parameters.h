// The frozen parameters of a run: no step changes them, so a checkpoint may leave them out and record their digests,
// see checkpoint.exclude_frozen_parameters.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/components/kinds/model.h"
#include "framework/config/plan/run_plan.h"
#include "framework/optimization/optimizer.h"

namespace tenon::pipeline {

// Returns the parameters of the model with requires_grad = false, and those that [[optimizer.group]] freezes for the
// whole run, each under all of its names. Buffers and parameters with `frozen_epochs` are not frozen parameters.
std::vector<components::NamedTensor> list_frozen_parameters(const components::Model& model,
                                                            const optimization::Optimizer& optimizer);

// The frozen parameters with the digests of their initial values.
class FrozenParameters {
 public:
  FrozenParameters() = default;  // none
  // Call it before the first step and before a checkpoint is loaded. Reads every frozen parameter.
  FrozenParameters(const components::Model& model, const optimization::Optimizer& optimizer);

  // Returns `tensors` without the frozen parameters, which are added to `excluded`. Reads them, because a plugin may
  // have changed one, such as the weights of a momentum encoder. Such a parameter is returned, and the first time a
  // warning names it.
  std::vector<components::NamedTensor> exclude(std::span<const components::NamedTensor> tensors,
                                               std::vector<artifacts::ExcludedTensor>& excluded);

  size_t count() const { return initial_.size(); }
  uint64_t bytes() const { return bytes_; }

 private:
  std::map<std::string, artifacts::ExcludedTensor> initial_;
  uint64_t bytes_ = 0;
  bool has_warned_ = false;
};

// Returns how a tensor of the model differs from a frozen parameter that a checkpoint leaves out, as the end of a
// sentence. None if they are equal, bit for bit. The model may have another floating-point dtype than the checkpoint:
// its tensor is converted first.
std::optional<std::string> find_difference(const at::Tensor& tensor, const artifacts::ExcludedTensor& excluded);

// Names what the initial weights of the model come from, for messages.
std::string describe_initial_weights(const config::ModelSection& plan, const components::Component& component);

// Compares the model with the frozen parameters that a checkpoint leaves out. Throws Error(checkpoint) naming the first
// that differs. `plan`: what the model was initialised with.
void require_excluded(const components::Model& model, const config::ModelSection& plan,
                      const artifacts::ExcludedTensors& excluded);

// The message of an error: `excluded` lists a frozen parameter, and the initial weights differ from it.
std::string describe_difference(const artifacts::ExcludedTensors& excluded, const std::string& name,
                                const std::string& initial_weights, const std::string& difference);

}  // namespace tenon::pipeline
