#include "framework/pipeline/device/tensor_storage.h"

#include <c10/core/StorageImpl.h>
#include <torch/types.h>

namespace tenon::pipeline {

namespace {

void resize(const at::Tensor& tensor, size_t bytes) {
  c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(storage->allocator()->allocate(bytes));
  storage->set_nbytes(bytes);
}

}  // namespace

bool can_free_storage(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided || tensor.numel() == 0) return false;
  const c10::Storage& storage = tensor.storage();
  return storage.resizable() && tensor.storage_offset() == 0 && tensor.is_non_overlapping_and_dense() &&
         storage.nbytes() == tensor.nbytes();
}

void free_storage(const at::Tensor& tensor) { resize(tensor, 0); }

void allocate_storage(const at::Tensor& tensor) { resize(tensor, tensor.nbytes()); }

}  // namespace tenon::pipeline
