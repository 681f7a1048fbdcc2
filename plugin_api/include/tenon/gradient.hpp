// Custom autograd functions in C++. A class becomes one by defining:
//
//   static constexpr size_t outputs = 1;   // number of tensors that forward returns
//   static constexpr size_t saved = 1;     // number of tensors that forward saves for backward
//   std::vector<tenon::Tensor> forward(const tenon::Frame& frame, const std::vector<tenon::Tensor>& inputs,
//                                      std::vector<tenon::Tensor>& saved) const;
//   std::vector<tenon::Tensor> backward(const tenon::Frame& frame, const std::vector<tenon::Tensor>& saved,
//                                       const std::vector<tenon::Tensor>& output_gradients) const;
//
// Call it with tenon::apply(function, {x, y}). forward runs without autograd. backward returns one gradient for each
// input. An empty tensor is a zero gradient, both in the arguments and in the result. The object must live until
// backward has finished: make it a member of the component, or static.
#pragma once

#include <vector>

#include "detail/extension.hpp"
#include "gradient.h"
#include "ops.hpp"

namespace tenon {
namespace detail {

inline std::vector<Tensor> borrow_tensors(const Frame& frame, tenon_tensor* const* handles, uint64_t count) {
  std::vector<Tensor> tensors;
  for (uint64_t i = 0; i < count; ++i) tensors.push_back(handles[i] ? Tensor(handles[i], &frame) : Tensor());
  return tensors;
}

inline void put_tensors(const std::vector<Tensor>& given, tenon_tensor** handles, uint64_t count, const char* what) {
  require_count(std::string(what) + ": got ", given.size(), "; expected ", count);
  for (size_t i = 0; i < given.size(); ++i) handles[i] = given[i].handle();
}

template <class T>
struct TENON_HIDDEN FunctionTable {
  static const T& instance(void* self) { return *static_cast<const T*>(self); }

  static tenon_status forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                              tenon_tensor** outputs, uint64_t output_count, tenon_tensor** saved,
                              uint64_t saved_count) {
    return guard([&] {
      const Frame within(frame);
      std::vector<Tensor> kept;
      put_tensors(instance(self).forward(within, borrow_tensors(within, inputs, input_count), kept), outputs,
                  output_count, "outputs of a function");
      put_tensors(kept, saved, saved_count, "saved tensors of a function");
    });
  }

  static tenon_status backward(void* self, const tenon_frame* frame, tenon_tensor* const* saved, uint64_t saved_count,
                               tenon_tensor* const* output_gradients, uint64_t output_count,
                               tenon_tensor** input_gradients, uint64_t input_count) {
    return guard([&] {
      const Frame within(frame);
      put_tensors(instance(self).backward(within, borrow_tensors(within, saved, saved_count),
                                          borrow_tensors(within, output_gradients, output_count)),
                  input_gradients, input_count, "input gradients of a function");
    });
  }

  static constexpr tenon_function table = {sizeof(tenon_function), &forward, &backward};
};

}  // namespace detail

template <class T>
std::vector<Tensor> apply(const T& function, const std::vector<Tensor>& inputs) {
  static const auto* const gradient = detail::find_extension<tenon_gradient>(TENON_GRADIENT);
  if (!gradient) throw Error(TENON_UNSUPPORTED, "this host does not support " TENON_GRADIENT);
  if (inputs.empty()) throw Error(TENON_INVALID_ARGUMENT, "apply() was called without tensors; expected at least one");
  const Frame& frame = inputs.front().checked_frame();
  const std::vector<tenon_tensor*> handles = detail::handles_of(inputs);
  std::vector<tenon_tensor*> outputs(T::outputs, nullptr);
  detail::check(gradient->apply(frame.get(), &detail::FunctionTable<T>::table, const_cast<T*>(&function),
                                handles.data(), handles.size(), outputs.data(), outputs.size(), T::saved));
  return detail::borrow_tensors(frame, outputs.data(), outputs.size());
}

}  // namespace tenon
