/* An extension of the host for native plugins, which link the same minor version of LibTorch as the host. It passes
 * at::Tensor objects across the ABI.
 *
 * A plugin that uses it sets tenon_plugin.torch_build to TENON_TORCH_BUILD. If its minor version differs from that of
 * the host's LibTorch, the host rejects the plugin with a message that names both builds. Patch releases and the
 * variants for CPUs and CUDA have the same interface. C++ authors include <tenon/torch.hpp> and do not need this file.
 */
#ifndef TENON_NATIVE_TORCH_H
#define TENON_NATIVE_TORCH_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_NATIVE_TORCH "tenon.native-torch/1"

typedef struct tenon_native_torch {
  uint64_t size;

  /* [any] Creates a handle for the at::Tensor that `at_tensor` points to. The caller owns one reference and releases
   * it. Returns null for an undefined tensor. */
  tenon_tensor* (*wrap)(const void* at_tensor);

  /* [any] Assigns the tensor of the handle to the at::Tensor that `at_tensor` points to. */
  void (*unwrap)(const tenon_tensor* tensor, void* at_tensor);

  /* [train] Transfers the caller's reference of a handle to the frame, which releases it when the call ends. */
  void (*add_to_frame)(const tenon_frame* frame, tenon_tensor* tensor);
} tenon_native_torch;
TENON_FREEZE(tenon_native_torch, add_to_frame, 32);

#ifdef __cplusplus
}
#endif
#endif
