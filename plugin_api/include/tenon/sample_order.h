/* What a dataset knows of all its samples before one is read, as extensions of the component
 * (tenon_component.get_extension): how long each one is, so that samples of like lengths can share a batch and little
 * of it is padding, and how often each one should be drawn. Both are of the instance `self` and must not change, as its
 * length() must not. A host that does not know an extension never asks for it. */
#ifndef TENON_SAMPLE_ORDER_H
#define TENON_SAMPLE_ORDER_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_SAMPLE_LENGTHS "tenon.sample-lengths/1"

typedef struct tenon_sample_lengths {
  uint64_t size;

  /* [train] Writes length() numbers, that of sample i to lengths[i]: its extent along what is padded, 0 or more, in
   * whatever unit the dataset counts (tokens, frames, points). Of several such extents it is the largest. Quick: no
   * sample is read for it. */
  tenon_status (*lengths)(void* self, int64_t* lengths);
} tenon_sample_lengths;
TENON_FREEZE(tenon_sample_lengths, lengths, 16);

#define TENON_SAMPLE_WEIGHTS "tenon.sample-weights/1"

typedef struct tenon_sample_weights {
  uint64_t size;

  /* [train] Writes length() numbers, that of sample i to weights[i]: how often it should be drawn beside the others,
   * where samples are drawn with replacement. Finite, 0 or more, and at least one above 0; their sum may be anything.
   */
  tenon_status (*weights)(void* self, double* weights);
} tenon_sample_weights;
TENON_FREEZE(tenon_sample_weights, weights, 16);

#ifdef __cplusplus
}
#endif
#endif
