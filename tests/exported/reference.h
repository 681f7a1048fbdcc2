// The training of a model in PyTorch, which tests/parity/make_exported.py recorded, and the same training of its
// archive.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/components/kinds/model.h"

namespace tenon::exported {

class Reference {
 public:
  // `folder` contains exported.safetensors.
  Reference(const std::filesystem::path& folder, std::string name);

  std::vector<at::Tensor> inputs(int64_t step) const;
  at::Tensor losses() const { return read("losses"); }
  at::Tensor evaluated(size_t output) const { return read("evaluated." + std::to_string(output)); }
  at::Tensor trained(const std::string& weight) const { return read("final." + weight); }
  // The names of state_dict().
  std::set<std::string> weights() const;

 private:
  at::Tensor read(const std::string& key) const;

  const std::string name_;
  const artifacts::SafetensorsFile file_;
};

// The largest difference of two tensors of the same shape and kind of dtype.
double distance(const at::Tensor& found, const at::Tensor& expected);

// Trains like train() of make_exported.py and returns the losses.
at::Tensor train(const components::Model& model, const Reference& reference, bool checkpoints_activations = false);

// Check the trained weights, and the outputs of batch 0 in evaluation.
void check_weights(const components::Model& model, const Reference& reference, double limit);
void check_evaluation(const components::Model& model, const Reference& reference, double limit);

}  // namespace tenon::exported
