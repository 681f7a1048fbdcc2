#include "framework/components/tensors/host_extensions.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/types.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "framework/components/calls/component.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/formats/nearest_name.h"

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

// Calls the most common operators without boxing. A boxed call costs about 300 ns more than a direct one
// (docs/benchmarks), and half of a small model's operators have these few signatures.
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

UnboxedCall::UnboxedCall(const c10::OperatorHandle& op) {
  const std::string signature = signature_of(op.schema());
  try {
    if (signature == "Tensor")
      call_ = op.typed<Unary>();
    else if (signature == "Tensor, Tensor")
      call_ = op.typed<Binary>();
    else if (signature == "Tensor, Tensor, Tensor?")
      call_ = op.typed<Ternary>();
    else if (signature == "Tensor, Tensor, Scalar" && is_one(op.schema().arguments()[2].default_value()))
      call_ = op.typed<Scaled>();
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

// The opaque type of the C headers: an operator with its parsed schema.
struct tenon_op {
  struct Parameter {
    std::string name;
    c10::TypeKind kind;     // of the value, without Optional
    c10::TypeKind element;  // of a list
    bool optional;
    bool optional_elements;  // Tensor?[]
    int32_t fixed_length;    // 2 for int[2], where a single number is expanded to two; 0 otherwise
    std::optional<c10::IValue> default_value;
  };

  c10::OperatorHandle handle;
  std::string name;
  std::vector<Parameter> parameters;
  tenon::components::UnboxedCall unboxed;
};

namespace tenon::components {

namespace {

// An error of the plugin in the arguments of a call.
struct ArgumentError {
  std::string text;
};

tenon_op::Parameter describe_parameter(const c10::Argument& argument) {
  tenon_op::Parameter parameter{argument.name(), c10::TypeKind::AnyType,   c10::TypeKind::AnyType,  false,
                                false,           argument.N().value_or(0), argument.default_value()};
  c10::TypePtr type = argument.type();
  if (const auto optional = type->cast<c10::OptionalType>()) {
    parameter.optional = true;
    type = optional->getElementType();
  }
  parameter.kind = type->kind();
  if (const auto list = type->cast<c10::ListType>()) {
    c10::TypePtr element = list->getElementType();
    if (const auto optional = element->cast<c10::OptionalType>()) {
      parameter.optional_elements = true;
      element = optional->getElementType();
    }
    parameter.element = element->kind();
  }
  return parameter;
}

const char* kind_name(uint32_t kind) {
  static constexpr const char* kNames[] = {
      "nothing", "a bool",         "an int",           "a float",           "a string",          "a tensor",
      "a dtype", "a list of ints", "a list of floats", "a list of strings", "a list of tensors", "a list of bools"};
  return kind < std::size(kNames) ? kNames[kind] : "a value of an unknown kind";
}

[[noreturn]] void refuse(const tenon_op::Parameter& parameter, const tenon_value& value) {
  std::string expected = c10::typeKindToString(parameter.kind);
  if (parameter.kind == c10::TypeKind::ListType)
    expected += std::string(" of ") + c10::typeKindToString(parameter.element);
  throw ArgumentError{"argument " + parameter.name + " is " + kind_name(value.kind) + "; expected " + expected};
}

c10::IValue to_list(const tenon_op::Parameter& parameter, const tenon_value& value) {
  const auto* ints = static_cast<const int64_t*>(value.as.p);
  switch (parameter.element) {
    case c10::TypeKind::IntType:
      if (value.kind == TENON_VALUE_INTS) return c10::IntArrayRef(ints, value.n);
      if (value.kind == TENON_VALUE_INT && parameter.fixed_length > 0)
        return std::vector<int64_t>(static_cast<size_t>(parameter.fixed_length), value.as.i);
      break;
    case c10::TypeKind::FloatType:
      if (value.kind == TENON_VALUE_FLOATS)
        return std::vector<double>(static_cast<const double*>(value.as.p),
                                   static_cast<const double*>(value.as.p) + value.n);
      break;
    case c10::TypeKind::BoolType:
      if (value.kind == TENON_VALUE_BOOLS) {
        c10::List<bool> list;
        for (uint64_t i = 0; i < value.n; ++i) list.push_back(static_cast<const uint8_t*>(value.as.p)[i] != 0);
        return list;
      }
      break;
    case c10::TypeKind::TensorType:
      if (value.kind == TENON_VALUE_TENSORS) {
        const auto* handles = static_cast<tenon_tensor* const*>(value.as.p);
        if (parameter.optional_elements) {
          c10::List<std::optional<at::Tensor>> list;
          for (uint64_t i = 0; i < value.n; ++i)
            list.push_back(handles[i] ? std::optional(to_tensor(handles[i])) : std::nullopt);
          return list;
        }
        c10::List<at::Tensor> list;
        for (uint64_t i = 0; i < value.n; ++i) list.push_back(to_tensor(handles[i]));
        return list;
      }
      break;
    default: break;
  }
  refuse(parameter, value);
}

// Converts a tenon_value to the IValue that the operator's schema expects.
c10::IValue to_ivalue(const tenon_op::Parameter& parameter, const tenon_value& value) {
  if (value.kind == TENON_VALUE_NONE) {
    if (parameter.optional) return {};
    if (parameter.kind == c10::TypeKind::TensorType) return at::Tensor();
    refuse(parameter, value);
  }
  switch (parameter.kind) {
    case c10::TypeKind::TensorType:
      if (value.kind == TENON_VALUE_TENSOR) return to_tensor(static_cast<const tenon_tensor*>(value.as.p));
      break;
    case c10::TypeKind::IntType:
      if (value.kind == TENON_VALUE_INT || value.kind == TENON_VALUE_BOOL) return value.as.i;
      // ScalarType arguments are ints in LibTorch's numbering.
      if (value.kind == TENON_VALUE_DTYPE)
        return static_cast<int64_t>(to_scalar_type(static_cast<int32_t>(value.as.i)));
      break;
    case c10::TypeKind::FloatType:
      if (value.kind == TENON_VALUE_FLOAT) return value.as.f;
      if (value.kind == TENON_VALUE_INT) return static_cast<double>(value.as.i);
      break;
    case c10::TypeKind::BoolType:
      if (value.kind == TENON_VALUE_BOOL) return value.as.i != 0;
      break;
    case c10::TypeKind::NumberType:  // Scalar
      if (value.kind == TENON_VALUE_INT) return value.as.i;
      if (value.kind == TENON_VALUE_FLOAT) return value.as.f;
      if (value.kind == TENON_VALUE_BOOL) return value.as.i != 0;
      break;
    case c10::TypeKind::StringType:
      if (value.kind == TENON_VALUE_STRING) return std::string(static_cast<const char*>(value.as.p), value.n);
      break;
    case c10::TypeKind::DeviceObjType:
      if (value.kind == TENON_VALUE_STRING)
        return c10::Device(std::string(static_cast<const char*>(value.as.p), value.n));
      break;
    case c10::TypeKind::ListType: return to_list(parameter, value);
    default: break;
  }
  refuse(parameter, value);
}

// The stack of one call. Calls reuse its memory, because allocating it costs as much as the rest of a call.
class CallStack {
 public:
  CallStack() : values_(std::move(spare())) { values_.clear(); }
  ~CallStack() {
    values_.clear();
    spare() = std::move(values_);
  }
  CallStack(const CallStack&) = delete;
  CallStack& operator=(const CallStack&) = delete;
  std::vector<c10::IValue>& values() { return values_; }

 private:
  // A nested call finds it empty and allocates.
  static std::vector<c10::IValue>& spare() {
    thread_local std::vector<c10::IValue> memory;
    return memory;
  }
  std::vector<c10::IValue> values_;
};

// Puts the operator's arguments on the stack in order: positional, then by name, then defaults.
void push_arguments(std::vector<c10::IValue>& stack, const tenon_op& op, const tenon_value* args, uint64_t arg_count,
                    const tenon_named_value* kwargs, uint64_t kwarg_count) {
  if (arg_count > op.parameters.size())
    throw ArgumentError{fmt::format("got {} arguments; expected at most {}", arg_count, op.parameters.size())};
  stack.reserve(op.parameters.size());
  uint64_t used = 0;
  for (size_t i = 0; i < op.parameters.size(); ++i) {
    const tenon_op::Parameter& parameter = op.parameters[i];
    const tenon_value* value = i < arg_count ? &args[i] : nullptr;
    for (uint64_t k = 0; k < kwarg_count && !value; ++k)
      if (std::string_view(kwargs[k].name.data, kwargs[k].name.size) == parameter.name) {
        value = &kwargs[k].value;
        ++used;
      }
    if (value)
      stack.push_back(to_ivalue(parameter, *value));
    else if (parameter.default_value)
      stack.push_back(*parameter.default_value);
    else if (parameter.optional)
      stack.emplace_back();
    else
      throw ArgumentError{"argument " + parameter.name + " is missing"};
  }
  if (used != kwarg_count) {
    std::vector<std::string> names;
    for (const tenon_op::Parameter& parameter : op.parameters) names.push_back(parameter.name);
    for (uint64_t k = 0; k < kwarg_count; ++k) {
      const std::string name = to_string(kwargs[k].name);
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
        throw ArgumentError{"there is no argument \"" + name + "\"" + formats::suggest_name(name, names)};
      if (static_cast<uint64_t>(found - names.begin()) < arg_count)
        throw ArgumentError{"argument " + name + " is given twice"};
    }
    throw ArgumentError{"a named argument is given twice"};
  }
}

tenon_value to_value(Frame& frame, c10::IValue& value) {
  if (value.isTensor()) return tenon_tensor_value(frame.keep(std::move(value).toTensor()));
  if (value.isInt()) return tenon_int(value.toInt());
  if (value.isDouble()) return tenon_float(value.toDouble());
  if (value.isBool()) return tenon_bool(value.toBool());
  if (value.isScalar()) return tenon_float(value.toScalar().toDouble());
  if (value.isNone()) return tenon_none();
  throw ArgumentError{"a result of type " + value.tagKind() + " cannot be passed to a plugin"};
}

// Moves the operator's results from the stack to `results`, up to `capacity`. Returns their number.
uint64_t take_results(Frame& frame, std::vector<c10::IValue>& stack, tenon_value* results, uint64_t capacity) {
  uint64_t found = 0;
  const auto put = [&](const tenon_value& value) {
    if (found < capacity) results[found] = value;
    ++found;
  };
  for (c10::IValue& value : stack) {
    if (value.isTensorList())
      for (const at::Tensor& tensor : value.toTensorVector()) put(tenon_tensor_value(frame.keep(tensor)));
    else
      put(to_value(frame, value));
  }
  return found;
}

std::string no_such_operator(const std::string& name, const std::string& overload) {
  std::vector<std::string> names;
  std::vector<std::string> overloads;
  for (const c10::OperatorName& known : c10::Dispatcher::singleton().getAllOpNames()) {
    names.push_back(known.name);
    if (known.name == name) overloads.push_back(known.overload_name.empty() ? "(empty)" : known.overload_name);
  }
  if (!overloads.empty())
    return "operator " + name + " has no overload \"" + overload + "\"" + formats::suggest_name(overload, overloads);
  const auto near = formats::nearest_name(name, names);
  return "there is no operator " + name + (near ? formats::did_you_mean(*near) : "; expected a name such as aten::add");
}

}  // namespace

tenon_status find_operator(tenon_string name_text, tenon_string overload_text, const tenon_op** out) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, std::unique_ptr<tenon_op>>
      known;  // must live as long as the plugins
  const std::string name = to_string(name_text);
  const std::string overload = to_string(overload_text);
  const std::lock_guard lock(mutex);
  std::unique_ptr<tenon_op>& op = known[{name, overload}];
  if (!op) {
    const auto handle = c10::Dispatcher::singleton().findSchema({name, overload});
    if (!handle) return fail(TENON_NOT_FOUND, no_such_operator(name, overload));
    op = std::make_unique<tenon_op>(
        tenon_op{*handle, overload.empty() ? name : name + "." + overload, {}, UnboxedCall(*handle)});
    for (const c10::Argument& argument : handle->schema().arguments())
      op->parameters.push_back(describe_parameter(argument));
  }
  *out = op.get();
  return TENON_OK;
}

tenon_status call_operator(const tenon_frame* base, const tenon_op* op, const tenon_value* args, uint64_t arg_count,
                           const tenon_named_value* kwargs, uint64_t kwarg_count, tenon_value* results,
                           uint64_t result_count) {
  if (!base || !op) return fail(TENON_INVALID_ARGUMENT, "call: a null frame or operator");
  Frame& frame = Frame::of(base);
  if (!frame.is_on_this_thread())
    return fail(TENON_WRONG_THREAD, op->name + ": called on a thread other than the frame's");
  try {
    if (kwarg_count == 0 && result_count == 1) {
      if (std::optional<at::Tensor> result = op->unboxed(args, arg_count)) {
        results[0] = tenon_tensor_value(frame.keep(*std::move(result)));
        return TENON_OK;
      }
    }
    CallStack stack;
    push_arguments(stack.values(), *op, args, arg_count, kwargs, kwarg_count);
    op->handle.callBoxed(stack.values());
    const uint64_t found = take_results(frame, stack.values(), results, result_count);
    if (found != result_count)
      return fail(TENON_INVALID_ARGUMENT, "{}: returns {} results; expected {}, as the caller requested", op->name,
                  found, result_count);
    return TENON_OK;
  } catch (const ArgumentError& error) {
    return fail(TENON_INVALID_ARGUMENT, op->name + ": " + error.text);
  } catch (const c10::Error& error) {
    return fail(TENON_FAILED, op->name + ": " + error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(TENON_FAILED, op->name + ": " + error.what());
  }
}

}  // namespace tenon::components
