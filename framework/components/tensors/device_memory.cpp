#include "framework/components/tensors/host_extensions.h"

#include <ATen/DLConvertor.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
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
  return catch_errors("current stream", TENON_UNSUPPORTED, [&] {
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
  });
}

tenon_status find_elements(tenon_tensor* handle, void** out) {
  const at::Tensor tensor = to_tensor(handle);
  if (!tensor.defined() || !out) return fail(TENON_INVALID_ARGUMENT, "device data: a null tensor or result");
  if (!tensor.is_contiguous())
    return fail(
        TENON_UNSUPPORTED,
        "device data: the tensor, {}, is not contiguous; expected a contiguous one: call aten::contiguous first",
        describe(tensor));
  return catch_errors("device data", TENON_UNSUPPORTED, [&] {
    *out = tensor.data_ptr();
    return TENON_OK;
  });
}

tenon_status give_dlpack(tenon_tensor* handle, void** managed) {
  const at::Tensor tensor = to_tensor(handle);
  if (!tensor.defined() || !managed) return fail(TENON_INVALID_ARGUMENT, "dlpack: a null tensor or result");
  if (tensor.requires_grad())
    return fail(TENON_UNSUPPORTED,
                "dlpack: the tensor, {}, takes part in autograd, which DLPack cannot carry; detach it first",
                describe(tensor));
  return catch_errors("dlpack", TENON_UNSUPPORTED, [&] {
    *managed = at::toDLPackVersioned(tensor);
    return TENON_OK;
  });
}

tenon_status take_dlpack(const tenon_frame* frame, void* managed, tenon_tensor** out) {
  auto* given = static_cast<DLManagedTensorVersioned*>(managed);
  if (!frame || !given || !out) return fail(TENON_INVALID_ARGUMENT, "dlpack: a null frame, tensor or result");
  if (given->version.major != DLPACK_MAJOR_VERSION)
    return fail(TENON_UNSUPPORTED, "dlpack: the tensor is of DLPack {}; expected {}", given->version.major,
                DLPACK_MAJOR_VERSION);
  return catch_errors("dlpack", TENON_UNSUPPORTED, [&] {
    *out = Frame::of(frame).keep(at::fromDLPackVersioned(given));
    return TENON_OK;
  });
}

constexpr tenon_dlpack kDlpack{sizeof(tenon_dlpack), give_dlpack, take_dlpack};
constexpr tenon_device_stream kDeviceStream{sizeof(tenon_device_stream), find_stream, find_elements};

}  // namespace

const tenon_device_stream& device_stream_extension() { return kDeviceStream; }
const tenon_dlpack& dlpack_extension() { return kDlpack; }

}  // namespace tenon::components
