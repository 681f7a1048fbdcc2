// Frees the memory of tensors that stay alive, and allocates it again. Views and tensors that autograd has saved see
// the new memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace tenon::pipeline {

// Whether the tensor is the only content of memory that can be freed.
bool can_free_storage(const at::Tensor& tensor);

// REQUIRES: can_free_storage() was true. Nothing may read the elements until allocate_storage(), whose result is not
// initialised.
void free_storage(const at::Tensor& tensor);
void allocate_storage(const at::Tensor& tensor);

}  // namespace tenon::pipeline
