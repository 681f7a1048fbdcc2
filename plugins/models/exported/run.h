// Runs a program through LibTorch's dispatcher, with autograd and autocast as the caller has set them.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "plugins/models/exported/program.h"

namespace exported {

// The constants of a program on each device that it ran on. Thread-safe.
class Constants {
 public:
  explicit Constants(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {}
  std::vector<at::Tensor> on(c10::Device device);

 private:
  const std::vector<at::Tensor> tensors_;
  std::mutex mutex_;
  std::map<c10::Device, std::vector<at::Tensor>, bool (*)(c10::Device, c10::Device)> moved_{
      [](c10::Device a, c10::Device b) { return a.str() < b.str(); }};
};

// Returns the outputs for the user. `weights` are the tensors of the frame; `inputs` has at least one tensor. Throws
// tenon::Error that names the node and its line of Python.
std::vector<at::Tensor> run(const Program& program, Constants& constants, const std::vector<at::Tensor>& weights,
                            const std::vector<at::Tensor>& inputs);

}  // namespace exported
