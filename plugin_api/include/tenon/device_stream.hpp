// The current device and stream for plugins that launch kernels, in C++:
//
//   const tenon::Stream stream = tenon::current_stream(logits);
//   if (stream.is_cuda())
//     launch(static_cast<cudaStream_t>(stream.handle), tenon::device_data<float>(logits), logits.numel());
#pragma once

#include <cstdint>
#include <string>

#include "detail/extension.hpp"
#include "device_stream.h"
#include "tensor.hpp"

namespace tenon {

// A device and its current stream. The host owns the stream, which may differ in each call: do not keep it.
struct Stream {
  int32_t device_type;   // TENON_DEVICE_...
  int32_t device_index;  // 0 for the CPU
  void* handle;          // CUDA: the cudaStream_t, null for the default stream; CPU: null

  bool is_cpu() const { return device_type == TENON_DEVICE_CPU; }
  bool is_cuda() const { return device_type == TENON_DEVICE_CUDA; }
};

// Returns the device of the tensor and its current stream. Without a tensor: the current device of the thread.
inline Stream current_stream(const Tensor& tensor = {}) {
  tenon_stream stream = {};
  stream.size = sizeof stream;
  detail::check(detail::require_extension<tenon_device_stream>(TENON_DEVICE_STREAM).current(tensor.handle(), &stream));
  return {stream.device_type, stream.device_index, stream.handle};
}

// Returns the address of the elements in the memory of the tensor's device. Throws Error if they have another type or
// are not contiguous.
template <class T>
T* device_data(const Tensor& tensor) {
  if (tensor.dtype() != dtype_of<T>()) {
    throw Error(TENON_INVALID_ARGUMENT,
                std::string("a tensor of ") + dtype_name(tensor.dtype()) + " is read as " + dtype_name(dtype_of<T>()));
  }
  void* elements = nullptr;
  detail::check(detail::require_extension<tenon_device_stream>(TENON_DEVICE_STREAM).data(tensor.handle(), &elements));
  return static_cast<T*>(elements);
}

}  // namespace tenon
