// The memory of tensors. That of a tensor that stays alive can be freed and allocated again: views, and tensors that
// autograd has saved, see the new memory.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tenon::pipeline {

// Whether the tensor is the only content of memory that can be freed.
bool can_free_storage(const at::Tensor& tensor);

// Whether the elements have memory.
bool has_storage(const at::Tensor& tensor);

// REQUIRES: can_free_storage() was true. Nothing may read the elements until new memory is allocated.
void free_storage(const at::Tensor& tensor);

// Memory that is reused for tensors of the same size. Freeing and allocating blocks of many sizes would fragment the
// heap, and its peak would grow.
class StoragePool {
 public:
  // Allocates the memory of a tensor, which is not initialised.
  void allocate(const at::Tensor& tensor);
  // As free_storage(), but keeps the memory.
  void free(const at::Tensor& tensor);
  // Returns the kept memory to the system.
  void clear() { kept_.clear(); }

 private:
  std::unordered_map<size_t, std::vector<c10::DataPtr>> kept_;  // by bytes
};

// Lets each thread keep the small blocks of tensors that it frees, and reuse them for tensors of about the same size.
// Requests huge pages of the kernel where large tensors lie in the heap. Replaces LibTorch's allocator of CPU tensors
// until the process ends. Tensors that exist already are unaffected. Call it before other threads allocate tensors. A
// second call has no effect.
void reuse_tensor_memory();

}  // namespace tenon::pipeline
