/* The tensors that a run trains, for callbacks that look at them, as an extension of the host. To be looked at only:
 * what is written to them goes behind the optimizer's back. */
#ifndef TENON_RUN_TENSORS_H
#define TENON_RUN_TENSORS_H

#include "callback.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_RUN_TENSORS "tenon.run-tensors/1"

/* What the host fills in, as far as `size` reaches, which the caller sets first. Borrowed for the call of on_event. */
typedef struct tenon_run_tensor {
  uint64_t size;
  tenon_string name;      /* PyTorch's, as in the checkpoint */
  tenon_tensor* value;    /* as it is at the event: changed between optimizer_before and optimizer_after */
  tenon_tensor* gradient; /* null where there is none: before backward_end, and from optimizer_after on */
} tenon_run_tensor;
TENON_FREEZE(tenon_run_tensor, gradient, 40);

/* A set of figures of one tensor, all of them float64. Half precision is computed in float32. */
enum {
  TENON_STATISTIC_NORM = 1u,       /* square root of the sum of squares; 0 without elements */
  TENON_STATISTIC_MEAN = 2u,       /* NaN without elements, as PyTorch has it */
  TENON_STATISTIC_ABS_MAX = 4u,    /* largest magnitude; 0 without elements, NaN where an element is */
  TENON_STATISTIC_ZERO_SHARE = 8u, /* elements that are 0, of all; NaN without elements */
  TENON_STATISTIC_NON_FINITE = 16u /* number of elements that are NaN or infinite */
};

/* What get_extension(TENON_RUN_TENSORS) gives. `run` is what on_event was given. */
typedef struct tenon_run_tensors {
  uint64_t size;

  /* [train] How many tensors are trained. One with several names counts once. The same throughout a run, as are their
   * names and order. TENON_UNSUPPORTED where nothing is trained. */
  tenon_status (*count)(const tenon_run* run, uint64_t* count);

  /* [train] The tensor of this index, and its gradient. */
  tenon_status (*tensor)(const tenon_run* run, uint64_t index, tenon_run_tensor* out);

  /* [train] A copy of the tensor as it is now, on its device, for a comparison later. It is the caller's, who gives it
   * back with tenon_host.release. */
  tenon_status (*copy)(const tenon_tensor* tensor, tenon_tensor** out);

  /* [train] For each tensor the statistics that `wanted` has, in the order of their bits: `values` receives count times
   * as many numbers. Where `minus` is not null and minus[i] neither, those of tensors[i] - minus[i]. All are computed
   * on the device, and read from it once. */
  tenon_status (*statistics)(tenon_tensor* const* tensors, tenon_tensor* const* minus, uint64_t count, uint32_t wanted,
                             double* values);
} tenon_run_tensors;
TENON_FREEZE(tenon_run_tensors, statistics, 40);

#ifdef __cplusplus
}
#endif
#endif
