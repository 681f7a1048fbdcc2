// The tensors among the inputs of an operator, for observers of LibTorch (ATen/record_function.h).
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace tenon::components {

// Identifies the memory of a tensor, which its views share. Null if it has none.
inline const void* memory_of(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

// Calls `use` with each defined tensor of `input`, which may be a tensor or a list of tensors.
template <class Use>
void visit_tensors(const c10::IValue& input, Use&& use) {
  if (input.isTensor()) {
    if (input.toTensor().defined()) use(input.toTensor());
  } else if (input.isList()) {
    for (const c10::IValue& element : input.toListRef()) visit_tensors(element, use);
  }
}

}  // namespace tenon::components
