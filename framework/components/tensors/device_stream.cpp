#include "framework/components/tensors/device_stream.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/tensor_handles.h"

namespace tenon::components {

namespace {

// LibTorch's CUDA hooks are not used, because their first use fixes whether the process has a device.
c10::Device current_device() {
  if (!c10::impl::hasDeviceGuardImpl(c10::kCUDA)) return c10::kCPU;
  const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  return guard.deviceCount() > 0 ? guard.getDevice() : c10::Device(c10::kCPU);
}

tenon_status find_stream(const tenon_tensor* handle, tenon_stream* out) {
  if (!out || out->size < TENON_SIZE_TO(tenon_stream, handle))
    return fail(TENON_INVALID_ARGUMENT, "current stream: a null result, or a result without its size set");
  try {
    const c10::Device device = handle ? to_tensor(handle).device() : current_device();
    void* stream = nullptr;
    if (!device.is_cpu()) {
      const c10::impl::VirtualGuardImpl guard(device.type());
      stream = guard.getStreamNativeHandle(guard.getStream(device));
    }
    out->device_type = to_device_type(device.type());
    out->device_index = device.has_index() ? device.index() : 0;
    out->handle = stream;
    return TENON_OK;
  } catch (const c10::Error& error) {
    return fail(TENON_UNSUPPORTED, std::string("current stream: ") + error.what_without_backtrace());
  }
}

tenon_status find_elements(tenon_tensor* handle, void** out) {
  const at::Tensor tensor = to_tensor(handle);
  if (!tensor.defined() || !out) return fail(TENON_INVALID_ARGUMENT, "device data: a null tensor or result");
  if (!tensor.is_contiguous())
    return fail(TENON_UNSUPPORTED, "device data: the tensor, " + describe(tensor) +
                                       ", is not contiguous; expected a contiguous one: call aten::contiguous first");
  try {
    *out = tensor.data_ptr();
    return TENON_OK;
  } catch (const c10::Error& error) {
    return fail(TENON_UNSUPPORTED, std::string("device data: ") + error.what_without_backtrace());
  }
}

constexpr tenon_device_stream kDeviceStream{sizeof(tenon_device_stream), find_stream, find_elements};

}  // namespace

const tenon_device_stream& device_stream_extension() { return kDeviceStream; }

}  // namespace tenon::components
