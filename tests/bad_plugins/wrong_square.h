/* The square of a tensor, with a wrong hand-written gradient. */
#ifndef TENON_TESTS_WRONG_SQUARE_H
#define TENON_TESTS_WRONG_SQUARE_H

#include <tenon/gradient.h>
#include <tenon/ops.h>

#include "describe.h"

static inline tenon_status square_forward(void* ops, const tenon_frame* frame, tenon_tensor* const* inputs,
                                          uint64_t input_count, tenon_tensor** outputs, uint64_t output_count,
                                          tenon_tensor** saved, uint64_t saved_count) {
  tenon_calls made = tenon_begin(ops, frame);
  (void)input_count;
  (void)output_count;
  (void)saved_count;
  outputs[0] = tenon_mul(&made, inputs[0], inputs[0]);
  saved[0] = inputs[0];
  return made.status;
}

/* The fault: the derivative is 2x, but this function uses 3x. */
static inline tenon_status square_backward(void* ops, const tenon_frame* frame, tenon_tensor* const* saved,
                                           uint64_t saved_count, tenon_tensor* const* output_gradients,
                                           uint64_t output_count, tenon_tensor** input_gradients,
                                           uint64_t input_count) {
  tenon_calls made = tenon_begin(ops, frame);
  (void)saved_count;
  (void)output_count;
  (void)input_count;
  input_gradients[0] = tenon_mul(&made, output_gradients[0], tenon_mul_scalar(&made, saved[0], tenon_float(3)));
  return made.status;
}

/* `ops` must live as long as the component. */
static inline tenon_tensor* square_wrongly(tenon_ops* ops, tenon_calls* made, tenon_tensor* input) {
  static const tenon_function square = {sizeof square, square_forward, square_backward};
  const tenon_gradient* gradient = (const tenon_gradient*)host->get_extension(text(TENON_GRADIENT));
  tenon_tensor* output = NULL;
  if (made->status == TENON_OK) made->status = gradient->apply(made->frame, &square, ops, &input, 1, &output, 1, 1);
  return output;
}

#endif
