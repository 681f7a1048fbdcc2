/* Tensors in plugins: an opaque handle, and the properties that the host reports.
 *
 * Handles are reference-counted. A handle that a function receives is borrowed for the call. A handle that the host
 * returns in a result belongs to the frame of the call and is released with the frame. To keep a handle longer, the
 * plugin retains it and releases it later. Tensors are ATen tensors: strides, views, autograd and devices are those of
 * the host's LibTorch. */
#ifndef TENON_TENSOR_H
#define TENON_TENSOR_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TENON_DEVICE_CPU = 0, TENON_DEVICE_CUDA = 1, TENON_DEVICE_OTHER = 255 };

/* The result of tenon_host.tensor_info. The caller sets `size` first. */
typedef struct tenon_tensor_info {
  uint64_t size;
  int32_t dtype;          /* TENON_FLOAT32 ... */
  int32_t device_type;    /* TENON_DEVICE_... */
  int32_t device_index;   /* 0 for the CPU */
  uint32_t ndim;          /* number of dimensions */
  const int64_t* shape;   /* one extent per dimension, borrowed while the tensor lives and is not resized */
  const int64_t* strides; /* one stride per dimension, in elements */
  int64_t numel;          /* product of the extents */
} tenon_tensor_info;
TENON_FREEZE(tenon_tensor_info, numel, 48);

/* An ATen operator. Look it up once with tenon_host.op; it is valid until the process ends. */
typedef struct tenon_op tenon_op;

#ifdef __cplusplus
}
#endif
#endif
