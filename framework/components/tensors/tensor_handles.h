// Handles: a tenon_tensor* is LibTorch's reference-counted TensorImpl*. Passing a tensor across the ABI costs one
// increment.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/tensor.h>

#include "framework/components/calls/ports.h"

namespace tenon::components {

inline tenon_tensor* to_handle(const at::Tensor& tensor) {
  return tensor.defined() ? reinterpret_cast<tenon_tensor*>(tensor.unsafeGetTensorImpl()) : nullptr;
}

// The handles are borrowed: they live as long as the tensors.
inline std::vector<tenon_tensor*> to_handles(const std::vector<at::Tensor>& tensors) {
  std::vector<tenon_tensor*> handles;
  handles.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) handles.push_back(to_handle(tensor));
  return handles;
}

// A new owner of the handle's tensor; undefined for null.
inline at::Tensor to_tensor(const tenon_tensor* handle) {
  if (!handle) return {};
  auto* implementation = reinterpret_cast<c10::TensorImpl*>(const_cast<tenon_tensor*>(handle));
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(implementation));
}

inline std::vector<at::Tensor> to_tensors(std::span<tenon_tensor* const> handles) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(handles.size());
  for (const tenon_tensor* handle : handles) tensors.push_back(to_tensor(handle));
  return tensors;
}

int32_t to_dtype(at::ScalarType type);         // TENON_DTYPE_NONE for a type that the ABI does not have
at::ScalarType to_scalar_type(int32_t dtype);  // throws std::invalid_argument for an unknown dtype

int32_t to_device_type(c10::DeviceType type);  // TENON_DEVICE_...

// "float32 [64, 1, 8, 8]".
std::string describe(const at::Tensor& tensor);

// Why the tensor does not fit the port; nothing if it fits. Binds the port's names in `extents`.
std::optional<std::string> find_mismatch(const at::Tensor& tensor, const Port& port, Extents& extents);

}  // namespace tenon::components
