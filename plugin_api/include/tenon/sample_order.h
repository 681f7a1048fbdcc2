/* Lengths and weights of samples, as extensions of a dataset (tenon_component.get_extension). With lengths, the host
 * puts samples of similar lengths into one batch, which reduces padding. With weights, it samples some samples more
 * often than others. Both belong to the instance `self` and must not change, like its length(). A host that does not
 * know an extension never requests it. */
#ifndef TENON_SAMPLE_ORDER_H
#define TENON_SAMPLE_ORDER_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_SAMPLE_LENGTHS "tenon.sample-lengths/1"

typedef struct tenon_sample_lengths {
  uint64_t size;

  /* [train] Writes length() numbers to `lengths`, one per sample: the extent of the sample along the padded dimension,
   * 0 or more, in any unit (tokens, frames, points). If several dimensions are padded, it is the largest extent. This
   * must be fast and must not read samples. */
  tenon_status (*lengths)(void* self, int64_t* lengths);
} tenon_sample_lengths;
TENON_FREEZE(tenon_sample_lengths, lengths, 16);

#define TENON_SAMPLE_WEIGHTS "tenon.sample-weights/1"

typedef struct tenon_sample_weights {
  uint64_t size;

  /* [train] Writes length() numbers to `weights`, one per sample: its weight when samples are drawn with replacement.
   * Weights are finite and 0 or more, and at least one is above 0. They need not sum to 1. */
  tenon_status (*weights)(void* self, double* weights);
} tenon_sample_weights;
TENON_FREEZE(tenon_sample_weights, weights, 16);

#ifdef __cplusplus
}
#endif
#endif
