/* Tensors to and from other libraries, as an extension of the host: the exchange format DLPack, version 1
 * (https://dmlc.github.io/dlpack/latest/). At the edges only, since DLPack carries no gradients. */
#ifndef TENON_DLPACK_H
#define TENON_DLPACK_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_DLPACK "tenon.dlpack/1"

/* `managed` is a DLManagedTensorVersioned of dlpack.h, which this contract does not repeat. */
typedef struct tenon_dlpack {
  uint64_t size;

  /* [any] The tensor's own memory as a managed tensor, which the receiver ends with its deleter. TENON_UNSUPPORTED for
   * one that takes part in autograd: detach it first. */
  tenon_status (*give)(tenon_tensor* tensor, void** managed);

  /* [train] A tensor of the frame over the managed one's memory. On success the host owns `managed` and calls its
   * deleter; on failure it stays the caller's. */
  tenon_status (*take)(const tenon_frame* frame, void* managed, tenon_tensor** out);
} tenon_dlpack;
TENON_FREEZE(tenon_dlpack, take, 24);

#ifdef __cplusplus
}
#endif
#endif
