/* Functions with a gradient of their own, as an extension: for an operation whose derivative ATen does not know, or
 * that the author knows better. What is computed from ATen operators alone needs none of this. */
#ifndef TENON_GRADIENT_H
#define TENON_GRADIENT_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_GRADIENT "tenon.gradient/1"

/* `self` is what was passed to apply. */
typedef struct tenon_function {
  uint64_t size;

  /* [train] Computes the outputs, without autograd. `saved` receives what backward needs: inputs, outputs, or other
   * handles of the frame; each may be null. */
  tenon_status (*forward)(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                          tenon_tensor** outputs, uint64_t output_count, tenon_tensor** saved, uint64_t saved_count);

  /* [autograd] The gradients of the inputs from those of the outputs, each of which may be null, for zero. Called on
   * the thread that runs backward, which it must not wait for; the frame is that of this call, and has no tensors. */
  tenon_status (*backward)(void* self, const tenon_frame* frame, tenon_tensor* const* saved, uint64_t saved_count,
                           tenon_tensor* const* output_gradients, uint64_t output_count, tenon_tensor** input_gradients,
                           uint64_t input_count);
} tenon_function;
TENON_FREEZE(tenon_function, backward, 24);

/* What get_extension(TENON_GRADIENT) gives. */
typedef struct tenon_gradient {
  uint64_t size;

  /* [train] Applies the function to the inputs, 16 at most, so that autograd calls its backward. `function` and `self`
   * must live until backward is done: statics of the plugin, or parts of the component. Second derivatives are not
   * available. */
  tenon_status (*apply)(const tenon_frame* frame, const tenon_function* function, void* self,
                        tenon_tensor* const* inputs, uint64_t input_count, tenon_tensor** outputs,
                        uint64_t output_count, uint64_t saved_count);
} tenon_gradient;
TENON_FREEZE(tenon_gradient, apply, 16);

#ifdef __cplusplus
}
#endif
#endif
