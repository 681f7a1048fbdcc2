// Runs a program through LibTorch's dispatcher, with autograd and autocast as the caller has set them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <mutex>
#include <unordered_map>
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
  std::unordered_map<c10::Device, std::vector<at::Tensor>> moved_;
};

// Runs a segment of the program: returns its outputs.
using CallSegment =
    std::function<std::vector<at::Tensor>(const Segment& segment, const std::vector<c10::IValue>& inputs)>;

// Returns the outputs for the user. `weights` are the tensors of the frame; `inputs` has at least one tensor. Passes
// each segment to `call_segment` if that is not empty. Throws tenon::Error that names the node and its line of Python.
std::vector<at::Tensor> run(const Program& program, Constants& constants, const std::vector<at::Tensor>& weights,
                            const std::vector<at::Tensor>& inputs, const CallSegment& call_segment = {});

// Runs the instructions of a segment on a device. Throws like run().
std::vector<at::Tensor> run_segment(const Program& program, const Segment& segment, Constants& constants,
                                    const std::vector<at::Tensor>& weights, const std::vector<c10::IValue>& inputs,
                                    c10::Device device);

}  // namespace exported
