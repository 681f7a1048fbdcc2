/* Tensor exchange with other libraries through DLPack, version 1 (https://dmlc.github.io/dlpack/latest/). An extension
 * of the host. DLPack carries no gradients, so use it only for the inputs and outputs of a computation. */
#ifndef TENON_DLPACK_H
#define TENON_DLPACK_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_DLPACK "tenon.dlpack/1"

/* `managed` is a DLManagedTensorVersioned of dlpack.h, which this header does not repeat. */
typedef struct tenon_dlpack {
  uint64_t size;

  /* [any] Exports the memory of the tensor as a managed tensor. The receiver releases it with its deleter. Returns
   * TENON_UNSUPPORTED for a tensor that takes part in autograd: detach it first. */
  tenon_status (*give)(tenon_tensor* tensor, void** managed);

  /* [train] Creates a tensor of the frame that shares the memory of the managed tensor. On success the host owns
   * `managed` and calls its deleter. On failure the caller keeps `managed`. */
  tenon_status (*take)(const tenon_frame* frame, void* managed, tenon_tensor** out);
} tenon_dlpack;
TENON_FREEZE(tenon_dlpack, take, 24);

#ifdef __cplusplus
}
#endif
#endif
