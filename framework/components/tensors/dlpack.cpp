#include "framework/components/tensors/dlpack.h"

#include <ATen/DLConvertor.h>
#include <torch/types.h>

#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_handles.h"

namespace tenon::components {

namespace {

tenon_status give(tenon_tensor* handle, void** managed) {
  const at::Tensor tensor = to_tensor(handle);
  if (!tensor.defined() || !managed) return fail(TENON_INVALID_ARGUMENT, "dlpack: a null tensor or result");
  if (tensor.requires_grad())
    return fail(TENON_UNSUPPORTED, "dlpack: the tensor, " + describe(tensor) +
                                       ", takes part in autograd, which DLPack cannot carry; detach it first");
  try {
    *managed = at::toDLPackVersioned(tensor);
    return TENON_OK;
  } catch (const c10::Error& error) {
    return fail(TENON_UNSUPPORTED, std::string("dlpack: ") + error.what_without_backtrace());
  }
}

tenon_status take(const tenon_frame* frame, void* managed, tenon_tensor** out) {
  auto* given = static_cast<DLManagedTensorVersioned*>(managed);
  if (!frame || !given || !out) return fail(TENON_INVALID_ARGUMENT, "dlpack: a null frame, tensor or result");
  if (given->version.major != DLPACK_MAJOR_VERSION)
    return fail(TENON_UNSUPPORTED, "dlpack: the tensor is of DLPack " + std::to_string(given->version.major) +
                                       "; expected " + std::to_string(DLPACK_MAJOR_VERSION));
  try {
    *out = Frame::of(frame).keep(at::fromDLPackVersioned(given));
    return TENON_OK;
  } catch (const c10::Error& error) {
    return fail(TENON_UNSUPPORTED, std::string("dlpack: ") + error.what_without_backtrace());
  }
}

}  // namespace

const tenon_dlpack& dlpack_extension() {
  static constexpr tenon_dlpack kExtension{sizeof(tenon_dlpack), give, take};
  return kExtension;
}

}  // namespace tenon::components
