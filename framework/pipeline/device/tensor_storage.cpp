#include "framework/pipeline/device/tensor_storage.h"

#include <c10/core/StorageImpl.h>
#include <torch/types.h>

#include <utility>

namespace tenon::pipeline {

namespace {

// Returns the previous memory.
c10::DataPtr exchange(const at::Tensor& tensor, c10::DataPtr memory, size_t bytes) {
  c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
  storage->set_nbytes(bytes);
  return storage->set_data_ptr(std::move(memory));
}

c10::Allocator& allocator_of(const at::Tensor& tensor) { return *tensor.storage().unsafeGetStorageImpl()->allocator(); }

}  // namespace

bool can_free_storage(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided || tensor.numel() == 0) return false;
  const c10::Storage& storage = tensor.storage();
  return storage.resizable() && tensor.storage_offset() == 0 && tensor.is_non_overlapping_and_dense() &&
         storage.nbytes() == tensor.nbytes();
}

bool has_storage(const at::Tensor& tensor) { return tensor.numel() == 0 || tensor.storage().nbytes() > 0; }

void free_storage(const at::Tensor& tensor) { exchange(tensor, allocator_of(tensor).allocate(0), 0); }

void StoragePool::allocate(const at::Tensor& tensor) {
  const size_t bytes = tensor.nbytes();
  std::vector<c10::DataPtr>& kept = kept_[bytes];
  if (kept.empty()) {
    exchange(tensor, allocator_of(tensor).allocate(bytes), bytes);
  } else {
    exchange(tensor, std::move(kept.back()), bytes);
    kept.pop_back();
  }
}

void StoragePool::free(const at::Tensor& tensor) {
  kept_[tensor.nbytes()].push_back(exchange(tensor, allocator_of(tensor).allocate(0), 0));
}

}  // namespace tenon::pipeline
