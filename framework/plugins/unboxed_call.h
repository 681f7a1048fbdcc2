// Calls of the commonest operators without boxing: a boxed call costs some 300 ns more than a direct one, whoever makes
// it (docs/benchmarks), and half of a small model's operators are of these few signatures.
#pragma once

#include <optional>
#include <variant>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <tenon/abi.h>

namespace tenon::plugins {

class UnboxedCall {
 public:
  explicit UnboxedCall(const c10::OperatorHandle& op);

  // The result; nothing where the signature is none of these, or the arguments are not simply what it wants, so that a
  // boxed call has to convert them, fill in defaults, or say what is wrong. Throws what the operator throws.
  std::optional<at::Tensor> operator()(const tenon_value* args, uint64_t arg_count) const;

 private:
  using Unary = at::Tensor(const at::Tensor&);                                                         // relu
  using Binary = at::Tensor(const at::Tensor&, const at::Tensor&);                                     // mul
  using Ternary = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&);  // linear
  using Scaled = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&);  // add, whose scale is 1

  std::variant<std::monostate, c10::TypedOperatorHandle<Unary>, c10::TypedOperatorHandle<Binary>,
               c10::TypedOperatorHandle<Ternary>, c10::TypedOperatorHandle<Scaled>>
      call_;
};

}  // namespace tenon::plugins
