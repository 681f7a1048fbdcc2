/* Activation checkpointing, as an extension: what a segment of a model computes on its way is not kept for backward but
 * computed again there, which trades time for memory: Chen et al., "Training deep nets with sublinear memory cost",
 * arXiv:1604.06174. The run file decides ([train] activation_checkpointing); where it says no, or nothing will go
 * backward, a segment is simply called. */
#ifndef TENON_CHECKPOINTING_H
#define TENON_CHECKPOINTING_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_CHECKPOINTING "tenon.activation-checkpointing/1"

/* `self` is what was passed to run. */
typedef struct tenon_segment {
  uint64_t size;

  /* [train] [autograd] Computes the outputs from the inputs and the frame's tensors, and from nothing else that has a
   * gradient. Called within forward, and again within backward, on the thread that runs that, in a frame with the same
   * tensors, step and seed; the host sees to it that LibTorch's random numbers and autocast are the same, and that
   * buffers (running means) change only once. */
  tenon_status (*forward)(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                          tenon_tensor** outputs, uint64_t output_count);

  /* [train] [autograd] Called once, when forward will not be called again; may be null. */
  void (*release)(void* self);
} tenon_segment;
TENON_FREEZE(tenon_segment, release, 24);

/* What get_extension(TENON_CHECKPOINTING) gives. */
typedef struct tenon_checkpointing {
  uint64_t size;

  /* [train] Runs the segment within a model's forward. `segment` must live as long as the plugin: a static. Releases
   * `self` also where it fails. */
  tenon_status (*run)(const tenon_frame* frame, const tenon_segment* segment, void* self, tenon_tensor* const* inputs,
                      uint64_t input_count, tenon_tensor** outputs, uint64_t output_count);
} tenon_checkpointing;
TENON_FREEZE(tenon_checkpointing, run, 16);

#ifdef __cplusplus
}
#endif
#endif
