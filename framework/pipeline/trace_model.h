// A model as TorchScript, which Python and LibTorch run without Tenon.
#pragma once

#include <string>
#include <vector>

#include "framework/plugins/model.h"

namespace tenon::pipeline {

// The inputs of a batch, in the order of the model's ports: [N, ...] each.
using ModelInputs = std::vector<at::Tensor>;

// The bytes of a .pt file, for torch.jit.load: the model's forward in evaluation mode, as torch::jit::tracer records
// its operators on the first batch, with its parameters and buffers under their names. It takes the inputs in the order
// of the ports and gives the output, or several as a tuple. What is traced knows no branches and takes sizes that the
// model computes with in C++ for constants. So the file is read back and has to give what the model gives, to rounding,
// on every batch and on one of another number of samples: throws Error(plugin) saying on which it does not. REQUIRES:
// one batch at least; tensors on the CPU.
std::string trace_model(const plugins::Model& model, const std::vector<ModelInputs>& batches);

}  // namespace tenon::pipeline
