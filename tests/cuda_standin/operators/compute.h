// Computes an operator of a CUDA device on the CPU.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>

namespace tenon::standin {

// Whether compute() knows this operator, although the CPU has no kernel for it: those of cuDNN and fused attention.
bool is_composed(const std::string& name);

// Replaces the arguments, which are CPU tensors, by the results. A result that the CPU does not have, such as the
// workspace of cuDNN, is None.
void compute(const c10::OperatorHandle& op, torch::jit::Stack& stack);

}  // namespace tenon::standin
