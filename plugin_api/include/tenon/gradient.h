/* Custom autograd functions, an extension of the host. Use them for an operation without a derivative in ATen, or with
 * a derivative that you compute yourself. Computations that use only ATen operators do not need them. */
#ifndef TENON_GRADIENT_H
#define TENON_GRADIENT_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_GRADIENT "tenon.gradient/1"

/* A custom autograd function. `self` is the pointer that was passed to apply. */
typedef struct tenon_function {
  uint64_t size;

  /* [train] Computes the outputs, without autograd. `saved` receives the tensors that backward needs: inputs, outputs,
   * or other handles of the frame. Each may be null. */
  tenon_status (*forward)(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                          tenon_tensor** outputs, uint64_t output_count, tenon_tensor** saved, uint64_t saved_count);

  /* [autograd] Computes the gradients of the inputs from the gradients of the outputs. A null output gradient is zero.
   * Called on the thread that runs backward; it must not wait for that thread. The frame is that of this call and has
   * no tensors. */
  tenon_status (*backward)(void* self, const tenon_frame* frame, tenon_tensor* const* saved, uint64_t saved_count,
                           tenon_tensor* const* output_gradients, uint64_t output_count, tenon_tensor** input_gradients,
                           uint64_t input_count);
} tenon_function;
TENON_FREEZE(tenon_function, backward, 24);

/* The table that get_extension(TENON_GRADIENT) returns. */
typedef struct tenon_gradient {
  uint64_t size;

  /* [train] Applies the function to at most 16 inputs, and records it so that autograd calls its backward. `function`
   * and `self` must live until backward has finished: use statics of the plugin or members of the component. Second
   * derivatives are not supported. */
  tenon_status (*apply)(const tenon_frame* frame, const tenon_function* function, void* self,
                        tenon_tensor* const* inputs, uint64_t input_count, tenon_tensor** outputs,
                        uint64_t output_count, uint64_t saved_count);
} tenon_gradient;
TENON_FREEZE(tenon_gradient, apply, 16);

#ifdef __cplusplus
}
#endif
#endif
