/* The current device and stream, and the addresses of tensors on a device, for plugins that launch kernels. An
 * extension of the host. */
#ifndef TENON_DEVICE_STREAM_H
#define TENON_DEVICE_STREAM_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_DEVICE_STREAM "tenon.device-stream/1"

/* The result of current. The caller sets `size` first, and the host fills in the fields that `size` covers. */
typedef struct tenon_stream {
  uint64_t size;
  int32_t device_type;  /* TENON_DEVICE_... */
  int32_t device_index; /* 0 for the CPU */
  void* handle;         /* CUDA: the cudaStream_t, null for the default stream; CPU: null */
} tenon_stream;
TENON_FREEZE(tenon_stream, handle, 24);

/* The table that get_extension(TENON_DEVICE_STREAM) returns. */
typedef struct tenon_device_stream {
  uint64_t size;

  /* [any] Returns the device of the tensor, and the stream that is current for this device on the calling thread. If
   * `tensor` is null, returns the current device of the thread: a CUDA device if this process uses one, otherwise the
   * CPU. The host owns the stream, which may differ in each call. Launch all kernels that read or write tensors on it,
   * and do not synchronise with it: the host's operators use the same stream, so the order of launches is enough.
   * Returns TENON_UNSUPPORTED if the device has no streams that a plugin can use. */
  tenon_status (*current)(const tenon_tensor* tensor, tenon_stream* out);

  /* [any] Returns the address of the first element of a contiguous tensor, in the memory of its device, borrowed while
   * the tensor lives. It is null for a tensor without elements. Returns TENON_UNSUPPORTED for a tensor that is not
   * contiguous. Autograd does not see writes to this memory. */
  tenon_status (*data)(tenon_tensor* tensor, void** out);
} tenon_device_stream;
TENON_FREEZE(tenon_device_stream, data, 24);

#ifdef __cplusplus
}
#endif
#endif
