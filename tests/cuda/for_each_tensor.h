// The tensors of an argument or result of an operator.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <utility>

namespace tenon::tests {

// Replaces each tensor of the value by that which the function returns for it.
template <class Function>
void for_each_tensor(c10::IValue& value, const Function& function) {
  if (value.isTensor()) {
    value = function(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(function(tensor));
    value = std::move(list);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& tensor : value.toOptionalTensorVector())
      list.push_back(tensor ? std::optional(function(*tensor)) : std::nullopt);
    value = std::move(list);
  }
}

}  // namespace tenon::tests
