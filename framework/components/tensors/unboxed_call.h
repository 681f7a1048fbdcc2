// Calls the most common operators without boxing. A boxed call costs about 300 ns more than a direct one
// (docs/benchmarks), and half of a small model's operators have these few signatures.
#pragma once

#include <optional>
#include <variant>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <tenon/abi.h>

namespace tenon::components {

class UnboxedCall {
 public:
  explicit UnboxedCall(const c10::OperatorHandle& op);

  // The result; nothing if the operator has another signature or the arguments do not match it exactly. Then a boxed
  // call must convert them, fill in defaults or report the error. Throws what the operator throws.
  std::optional<at::Tensor> operator()(const tenon_value* args, uint64_t arg_count) const;

 private:
  using Unary = at::Tensor(const at::Tensor&);                                                         // relu
  using Binary = at::Tensor(const at::Tensor&, const at::Tensor&);                                     // mul
  using Ternary = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&);  // linear
  using Scaled = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&);  // add, with a scale of 1

  std::variant<std::monostate, c10::TypedOperatorHandle<Unary>, c10::TypedOperatorHandle<Binary>,
               c10::TypedOperatorHandle<Ternary>, c10::TypedOperatorHandle<Scaled>>
      call_;
};

}  // namespace tenon::components
