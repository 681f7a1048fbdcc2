/* Activation checkpointing, an extension of the host. The activations inside a segment of a model are not kept for
 * backward but recomputed in backward, which trades time for memory: Chen et al., "Training deep nets with sublinear
 * memory cost", arXiv:1604.06174. The run file turns it on ([train] activation_checkpointing). Where it is off, or no
 * backward will run, the segment is simply called. */
#ifndef TENON_CHECKPOINTING_H
#define TENON_CHECKPOINTING_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_CHECKPOINTING "tenon.activation-checkpointing/1"

/* A segment of a model. `self` is the pointer that was passed to run. */
typedef struct tenon_segment {
  uint64_t size;

  /* [train] [autograd] Computes the outputs from the inputs and the frame's tensors. No other tensor in the computation
   * may require a gradient. The host calls it in forward, and again in backward on the thread that runs backward, with
   * a frame that has the same tensors, step and seed. The host restores LibTorch's random number generators and
   * autocast for the second call, and updates buffers (running means) only once. */
  tenon_status (*forward)(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                          tenon_tensor** outputs, uint64_t output_count);

  /* [train] [autograd] Called once, after the last call of forward; may be null. */
  void (*release)(void* self);
} tenon_segment;
TENON_FREEZE(tenon_segment, release, 24);

/* The table that get_extension(TENON_CHECKPOINTING) returns. */
typedef struct tenon_checkpointing {
  uint64_t size;

  /* [train] Runs the segment within the forward of a model. `segment` must live as long as the plugin, for example as a
   * static. Releases `self` on failure, too. */
  tenon_status (*run)(const tenon_frame* frame, const tenon_segment* segment, void* self, tenon_tensor* const* inputs,
                      uint64_t input_count, tenon_tensor** outputs, uint64_t output_count);
} tenon_checkpointing;
TENON_FREEZE(tenon_checkpointing, run, 16);

#ifdef __cplusplus
}
#endif
#endif
