// Tensors in C++, and the frame that they belong to. ops.hpp has the operators. Use everything here on the training
// thread only.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "detail/table.hpp"
#include "dtype.hpp"
#include "ops.h"
#include "port.hpp"

namespace tenon {

class Frame;

namespace detail {

// The operators that this plugin has looked up.
TENON_HIDDEN inline tenon_ops operators = {};

inline tenon_tensor_info info_of(const tenon_tensor* tensor) {
  tenon_tensor_info info = {};
  info.size = sizeof info;
  check(host->tensor_info(tensor, &info));
  return info;
}

}  // namespace detail

// A tensor of a frame: an input, a tensor of the frame, or the result of an operator. It is a borrowed pointer, so
// copies are cheap. It is invalid after the function that received the frame returns. An empty tensor represents an
// absent argument.
class Tensor {
 public:
  Tensor() = default;
  Tensor(tenon_tensor* handle, const Frame* frame) : handle_(handle), frame_(frame) {}

  Tensor(const Tensor&) = default;
  // Assigns to lvalues only: `frame.tensor(0) = x` would only change a temporary handle. See copy_in_place.
  Tensor& operator=(const Tensor&) & = default;

  explicit operator bool() const { return handle_ != nullptr; }
  tenon_tensor* handle() const { return handle_; }
  const Frame* frame() const { return frame_; }
  const Frame& checked_frame() const {
    if (!frame_) throw Error(TENON_INVALID_ARGUMENT, "an operator received an empty tensor");
    return *frame_;
  }

  int32_t dtype() const { return info().dtype; }  // TENON_FLOAT32 ...
  int64_t numel() const { return info().numel; }
  std::vector<int64_t> shape() const {
    const tenon_tensor_info known = info();
    return std::vector<int64_t>(known.shape, known.shape + known.ndim);
  }

  // Returns the elements. Throws Error if they have another type, are on another device, or are not contiguous.
  template <class T>
  T* data() const {
    if (dtype() != dtype_of<T>()) {
      throw Error(TENON_INVALID_ARGUMENT,
                  std::string("a tensor of ") + dtype_name(dtype()) + " is read as " + dtype_name(dtype_of<T>()));
    }
    void* elements = nullptr;
    detail::check(detail::host->tensor_data(handle_, &elements));
    return static_cast<T*>(elements);
  }

  // Returns the value of a CPU tensor with one element. Metrics use it in compute().
  double number() const {
    if (numel() != 1) {
      throw Error(TENON_INVALID_ARGUMENT, "a tensor of " + std::to_string(numel()) + " elements is read as one number");
    }
    switch (dtype()) {
      case TENON_INT64: return static_cast<double>(*data<int64_t>());
      case TENON_FLOAT64: return *data<double>();
      default: return static_cast<double>(*data<float>());
    }
  }

 private:
  tenon_tensor_info info() const { return detail::info_of(handle_); }

  tenon_tensor* handle_ = nullptr;
  const Frame* frame_ = nullptr;
};

// A tensor that the plugin owns. Move-only; releases the tensor on destruction.
class OwnedTensor {
 public:
  OwnedTensor() = default;
  explicit OwnedTensor(tenon_tensor* handle) : handle_(handle) {}
  OwnedTensor(OwnedTensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  OwnedTensor& operator=(OwnedTensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~OwnedTensor() { detail::host->release(handle_); }

  tenon_tensor* handle() const { return handle_; }

 private:
  tenon_tensor* handle_ = nullptr;
};

// Keeps a tensor after the end of its frame.
class KeptTensor {
 public:
  explicit KeptTensor(const Tensor& tensor) : owned_(tensor.handle()) { detail::host->retain(tensor.handle()); }

  Tensor in(const Frame& frame) const { return Tensor(owned_.handle(), &frame); }

 private:
  OwnedTensor owned_;
};

namespace detail {

inline std::vector<tenon_tensor*> handles_of(const std::vector<Tensor>& tensors) {
  std::vector<tenon_tensor*> handles;
  for (const Tensor& tensor : tensors) handles.push_back(tensor.handle());
  return handles;
}

}  // namespace detail

// An argument of an operator. Text and lists are borrowed for the call.
class Argument {
 public:
  Argument() : value_(tenon_none()) {}  // an absent optional argument
  Argument(const Tensor& tensor) : value_(tenon_tensor_value(tensor.handle())) {}
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  Argument(Number number) : value_(to_value(number)) {}
  Argument(const char* text) : value_(tenon_text(text, std::string_view(text).size())) {}
  Argument(const std::string& text) : value_(tenon_text(text.data(), text.size())) {}
  Argument(const std::vector<int64_t>& numbers) : value_(tenon_ints(numbers.data(), numbers.size())) {}
  Argument(const std::vector<double>& numbers)
      : value_(tenon_list_value(TENON_VALUE_FLOATS, numbers.data(), numbers.size())) {}
  Argument(const std::vector<Tensor>& tensors)
      : handles_(detail::handles_of(tensors)), value_(tenon_tensors(handles_.data(), handles_.size())) {}
  Argument(const void*) = delete;  // a handle would convert to bool
  Argument(const Argument&) = delete;
  // Creates a dtype argument from TENON_FLOAT32 ...
  static Argument dtype(int32_t dtype) { return Argument(tenon_dtype(dtype)); }

  const tenon_value& value() const { return value_; }

 private:
  explicit Argument(const tenon_value& value) : value_(value) {}

  template <class Number>
  static tenon_value to_value(Number number) {
    if constexpr (std::is_same_v<Number, bool>) {
      return tenon_bool(number);
    } else if constexpr (std::is_integral_v<Number>) {
      return tenon_int(static_cast<int64_t>(number));
    } else {
      return tenon_float(static_cast<double>(number));
    }
  }

  std::vector<tenon_tensor*> handles_;  // data that value_ points to
  tenon_value value_;
};

// A named argument: {"alpha", 2}.
struct NamedArgument {
  std::string_view name;
  Argument value;
};

// An ATen operator by name and overload: tenon::Op("aten::clamp_min", "Tensor"). It is looked up on first use, so keep
// the object. Name the operator in tenon::operators({...}) of TENON_PLUGIN.
class Op {
 public:
  explicit Op(std::string name, std::string overload = {}) : name_(std::move(name)), overload_(std::move(overload)) {}

  const tenon_op* resolve() const {
    if (!op_) detail::check(detail::host->op(detail::borrow(name_), detail::borrow(overload_), &op_));
    return op_;
  }

 private:
  std::string name_;
  std::string overload_;
  mutable const tenon_op* op_ = nullptr;
};

// The context of a call on the training thread.
class Frame {
 public:
  explicit Frame(const tenon_frame* frame) : frame_(frame) { detail::operators.host = detail::host; }

  bool is_training() const { return frame_->training != 0; }
  int64_t step() const { return frame_->step; }    // number of completed optimizer steps
  int64_t epoch() const { return frame_->epoch; }  // counted from 1; 0 before the first epoch
  uint32_t rank() const { return frame_->rank; }   // 0 <= rank < world_size
  uint32_t world_size() const { return frame_->world_size; }
  // A seed that depends only on the run seed, rank, step, and train or evaluate. Pass it to tenon::Random.
  uint64_t seed() const { return frame_->seed; }
  const tenon_frame* get() const { return frame_; }

  // In a model: the tensor with the index that Builder returned. In a metric: the state with this index.
  Tensor tensor(uint64_t index) const {
    if (index >= frame_->tensor_count) {
      throw Error(TENON_INVALID_ARGUMENT, "the frame has no tensor " + std::to_string(index) +
                                              "; the number of its tensors is " + std::to_string(frame_->tensor_count));
    }
    return Tensor(frame_->tensors[index], this);
  }

  // Calls an operator that returns one tensor: positional arguments, then named arguments.
  Tensor call(const Op& op, std::initializer_list<Argument> arguments,
              std::initializer_list<NamedArgument> named = {}) const {
    return call_for(op, 1, arguments, named).front();
  }

  // Calls an operator that returns `result_count` tensors.
  std::vector<Tensor> call_for(const Op& op, size_t result_count, std::initializer_list<Argument> arguments,
                               std::initializer_list<NamedArgument> named = {}) const {
    std::vector<tenon_value> args;
    for (const Argument& argument : arguments) args.push_back(argument.value());
    std::vector<tenon_named_value> kwargs;
    for (const NamedArgument& argument : named)
      kwargs.push_back({detail::borrow(argument.name), argument.value.value()});
    std::vector<tenon_value> values(result_count, tenon_none());
    detail::check(detail::host->call(frame_, op.resolve(), args.data(), args.size(), kwargs.data(), kwargs.size(),
                                     values.data(), values.size()));
    std::vector<Tensor> results;
    for (const tenon_value& value : values)
      results.emplace_back(static_cast<tenon_tensor*>(const_cast<void*>(value.as.p)), this);
    return results;
  }

  // Creates a CPU tensor with these elements. `shape` must have the same number of elements.
  template <class T>
  Tensor make(const std::vector<T>& elements, const std::vector<int64_t>& shape) const {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    if (count != static_cast<int64_t>(elements.size())) {
      throw Error(TENON_INVALID_ARGUMENT, "got " + std::to_string(elements.size()) +
                                              " elements for a tensor; its shape has " + std::to_string(count));
    }
    tenon_tensor* made = nullptr;
    detail::check(detail::host->make_tensor(frame_, dtype_of<T>(), shape.data(), static_cast<uint32_t>(shape.size()),
                                            elements.data(), &made));
    return Tensor(made, this);
  }

  // In a metric's update: appends rows to the state with this index, which tenon::rows must have declared.
  void append(uint64_t state, const Tensor& rows) const {
    detail::check(detail::host->append(frame_, state, rows.handle()));
  }

  // Calls a function of ops.h: frame.apply(tenon_relu, x). Converts tensors, arguments and lists to their C types.
  template <class Function, class... Args>
  Tensor apply(Function function, const Args&... args) const {
    tenon_calls calls = tenon_begin(&detail::operators, frame_);
    tenon_tensor* const result = function(&calls, to_c(args)...);
    detail::check(calls.status);
    return Tensor(result, this);
  }

 private:
  static tenon_tensor* to_c(const Tensor& tensor) { return tensor.handle(); }
  static tenon_value to_c(const Argument& argument) { return argument.value(); }
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  static Number to_c(Number number) {
    return number;
  }
  template <class Element>
  static const Element* to_c(const Element* elements) {
    return elements;
  }

  const tenon_frame* frame_;
};

// The tensors at the input ports, by index or by name.
class Inputs {
 public:
  Inputs(const Frame* frame, tenon_tensor* const* handles, uint64_t count, const std::vector<Port>* ports)
      : frame_(frame), handles_(handles), count_(count), ports_(ports) {}

  uint64_t size() const { return count_; }

  Tensor operator[](size_t index) const {
    if (index >= count_) {
      throw Error(TENON_INVALID_ARGUMENT,
                  "there is no input " + std::to_string(index) + "; the number of inputs is " + std::to_string(count_));
    }
    return Tensor(handles_[index], frame_);
  }

  Tensor operator[](std::string_view name) const {
    size_t index = 0;
    for (const Port& port : *ports_) {
      if (port.direction != TENON_INPUT) continue;
      if (port.name == name) return (*this)[index];
      ++index;
    }
    std::string names;
    for (const Port& port : *ports_)
      if (port.direction == TENON_INPUT) names += (names.empty() ? "" : ", ") + port.name;
    throw Error(TENON_NOT_FOUND, "there is no input port \"" + std::string(name) + "\"; the input ports are: " + names);
  }

 private:
  const Frame* frame_;
  tenon_tensor* const* handles_;
  uint64_t count_;
  const std::vector<Port>* ports_;
};

}  // namespace tenon
