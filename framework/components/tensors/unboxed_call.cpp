#include "framework/components/tensors/unboxed_call.h"

#include <torch/types.h>

#include <string>

#include "framework/components/tensors/tensor_handles.h"

namespace tenon::components {

namespace {

// Returns "Tensor, Tensor, Tensor?", or nothing for an operator that writes to an argument, has several results or a
// result of another type.
std::string signature_of(const c10::FunctionSchema& schema) {
  if (schema.is_mutable() || schema.returns().size() != 1 ||
      schema.returns()[0].type()->kind() != c10::TypeKind::TensorType)
    return "";
  std::string signature;
  for (const c10::Argument& argument : schema.arguments())
    signature += (signature.empty() ? "" : ", ") + argument.type()->str();
  return signature;
}

bool is_one(const std::optional<c10::IValue>& value) { return value && value->isInt() && value->toInt() == 1; }

bool are_tensors(const tenon_value* args, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    if (args[i].kind != TENON_VALUE_TENSOR || !args[i].as.p) return false;
  return true;
}

at::Tensor tensor_of(const tenon_value& value) { return to_tensor(static_cast<const tenon_tensor*>(value.as.p)); }

}  // namespace

UnboxedCall::UnboxedCall(const c10::OperatorHandle& op) {
  const std::string signature = signature_of(op.schema());
  try {
    if (signature == "Tensor") {
      call_ = op.typed<Unary>();
    } else if (signature == "Tensor, Tensor") {
      call_ = op.typed<Binary>();
    } else if (signature == "Tensor, Tensor, Tensor?") {
      call_ = op.typed<Ternary>();
    } else if (signature == "Tensor, Tensor, Scalar" && is_one(op.schema().arguments()[2].default_value())) {
      call_ = op.typed<Scaled>();
    }
  } catch (const c10::Error&) {
    // The operator is registered with a C++ signature that differs from its schema. It is called boxed.
  }
}

std::optional<at::Tensor> UnboxedCall::operator()(const tenon_value* args, uint64_t arg_count) const {
  if (const auto* unary = std::get_if<c10::TypedOperatorHandle<Unary>>(&call_)) {
    if (arg_count == 1 && are_tensors(args, 1)) return unary->call(tensor_of(args[0]));
  } else if (const auto* binary = std::get_if<c10::TypedOperatorHandle<Binary>>(&call_)) {
    if (arg_count == 2 && are_tensors(args, 2)) return binary->call(tensor_of(args[0]), tensor_of(args[1]));
  } else if (const auto* ternary = std::get_if<c10::TypedOperatorHandle<Ternary>>(&call_)) {
    if (arg_count == 3 && are_tensors(args, 3))
      return ternary->call(tensor_of(args[0]), tensor_of(args[1]), tensor_of(args[2]));
    if (arg_count == 3 && are_tensors(args, 2) && args[2].kind == TENON_VALUE_NONE)
      return ternary->call(tensor_of(args[0]), tensor_of(args[1]), std::nullopt);
  } else if (const auto* scaled = std::get_if<c10::TypedOperatorHandle<Scaled>>(&call_)) {
    if (arg_count == 2 && are_tensors(args, 2)) return scaled->call(tensor_of(args[0]), tensor_of(args[1]), 1);
  }
  return std::nullopt;
}

}  // namespace tenon::components
