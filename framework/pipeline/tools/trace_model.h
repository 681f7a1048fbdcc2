// Exports a model as TorchScript, which Python and LibTorch run without Tenon.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "framework/components/kinds/model.h"

namespace tenon::pipeline {

// The inputs of a batch, in the order of the model's ports: [N, ...] each.
using ModelInputs = std::vector<at::Tensor>;

// Returns the bytes of a .pt file for torch.jit.load. It contains the model's forward in evaluation mode, traced by
// torch::jit::tracer on the first batch, with parameters and buffers under their names. It takes the inputs in the
// order of the ports and returns the output, or a tuple of several outputs. A model with results has the method
// `results`, which takes the outputs and returns a tuple of the results, each followed by its lengths if it is a list.
// If tracing changes the results, a warning says so, and the file lacks the method.
//
// A trace records no branches, and sizes that the model computes in C++ become constants. The file is therefore read
// back and compared with the model on every batch and on one with another number of samples. Throws Error(plugin)
// naming the batch on which they differ by more than rounding. REQUIRES: at least one batch; tensors on the CPU.
// `extra_files`: texts by name, which torch.jit.load returns in its argument _extra_files.
std::string trace_model(const components::Model& model, const std::vector<ModelInputs>& batches,
                        const std::map<std::string, std::string>& extra_files = {});

}  // namespace tenon::pipeline
