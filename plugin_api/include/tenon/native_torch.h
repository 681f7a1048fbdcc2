/* The native tier's extension: how a plugin that links the host's very LibTorch passes at::Tensor across.
 *
 * A plugin that uses it sets tenon_plugin.torch_build to TENON_TORCH_BUILD, and is refused, with a message that names
 * both sides, unless that equals the host's. C++ authors include <tenon/torch.hpp> and never see this file. */
#ifndef TENON_NATIVE_TORCH_H
#define TENON_NATIVE_TORCH_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_NATIVE_TORCH "tenon.native-torch/1"

typedef struct tenon_native_torch {
  uint64_t size;

  /* [any] A handle for the at::Tensor pointed to, with one owner, who releases it; null for an undefined tensor. */
  tenon_tensor* (*wrap)(const void* at_tensor);

  /* [any] Assigns the handle's tensor to the at::Tensor pointed to. */
  void (*unwrap)(const tenon_tensor* tensor, void* at_tensor);

  /* [train] Gives the owner's share of a handle to the frame, which releases it when the call ends. */
  void (*give_to_frame)(const tenon_frame* frame, tenon_tensor* tensor);
} tenon_native_torch;
TENON_FREEZE(tenon_native_torch, give_to_frame, 32);

#ifdef __cplusplus
}
#endif
#endif
