/* Tensors as a plugin sees them: an opaque handle, and what the host tells of it.
 *
 * A handle is counted. One that a function receives is borrowed for the call. One that the host gives out in a result
 * belongs to the frame of the call and is released with it, unless the plugin retains it; what is retained is released
 * by the plugin. Tensors are defined by ATen: strides, views, autograd and devices are those of the host's LibTorch. */
#ifndef TENON_TENSOR_H
#define TENON_TENSOR_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TENON_DEVICE_CPU = 0, TENON_DEVICE_CUDA = 1, TENON_DEVICE_OTHER = 255 };

/* What the host fills in for tenon_host.tensor_info. The caller sets `size` first. */
typedef struct tenon_tensor_info {
  uint64_t size;
  int32_t dtype;          /* TENON_FLOAT32 ... */
  int32_t device_type;    /* TENON_DEVICE_... */
  int32_t device_index;   /* 0 on the CPU */
  uint32_t rank;          /* number of dimensions */
  const int64_t* shape;   /* rank extents, borrowed while the tensor lives and is not resized */
  const int64_t* strides; /* rank strides in elements */
  int64_t numel;          /* product of the extents */
} tenon_tensor_info;
TENON_FREEZE(tenon_tensor_info, numel, 48);

/* An ATen operator, looked up once with tenon_host.op and valid until the process ends. */
typedef struct tenon_op tenon_op;

#ifdef __cplusplus
}
#endif
#endif
