/* The tensors that a run trains, for callbacks. An extension of the host. The tensors are read-only: the optimizer and
 * autograd do not see writes to them. */
#ifndef TENON_RUN_TENSORS_H
#define TENON_RUN_TENSORS_H

#include "callback.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_RUN_TENSORS "tenon.run-tensors/1"

/* The result of tensor(). The caller sets `size` first, and the host fills in the fields that `size` covers. Borrowed
 * for the call of on_event. */
typedef struct tenon_run_tensor {
  uint64_t size;
  tenon_string name; /* name in PyTorch, as in the checkpoint */
  /* value at the event; it changes between optimizer_before and optimizer_after */
  tenon_tensor* value;
  /* null if there is no gradient: before backward_end, and from optimizer_after on */
  tenon_tensor* gradient;
} tenon_run_tensor;
TENON_FREEZE(tenon_run_tensor, gradient, 40);

/* Statistics of one tensor, all returned as float64. Half precision is computed in float32. */
enum {
  TENON_STATISTIC_NORM = 1u,       /* L2 norm: square root of the sum of squares; 0 for an empty tensor */
  TENON_STATISTIC_MEAN = 2u,       /* mean; NaN for an empty tensor, as in PyTorch */
  TENON_STATISTIC_ABS_MAX = 4u,    /* largest absolute value; 0 for an empty tensor, NaN if an element is NaN */
  TENON_STATISTIC_ZERO_SHARE = 8u, /* fraction of elements that are 0; NaN for an empty tensor */
  TENON_STATISTIC_NON_FINITE = 16u /* number of elements that are NaN or infinite */
};

/* The table that get_extension(TENON_RUN_TENSORS) returns. `run` is the argument of on_event. */
typedef struct tenon_run_tensors {
  uint64_t size;

  /* [train] Returns the number of trained tensors. A tensor with several names counts once. The number, names and order
   * of the tensors do not change during a run. Returns TENON_UNSUPPORTED if nothing is trained. */
  tenon_status (*count)(const tenon_run* run, uint64_t* count);

  /* [train] Returns the tensor with this index, and its gradient. */
  tenon_status (*tensor)(const tenon_run* run, uint64_t index, tenon_run_tensor* out);

  /* [train] Copies the current value of the tensor on its device, for a later comparison. The caller owns the copy and
   * releases it with tenon_host.release. */
  tenon_status (*copy)(const tenon_tensor* tensor, tenon_tensor** out);

  /* [train] Computes for each tensor the statistics that `requested` selects, in the order of their bits. `values`
   * receives the results of each tensor, one tensor after another. If `minus` and minus[i] are not null, the statistics
   * are those of tensors[i] - minus[i]. All statistics are computed on the device and copied from it once. */
  tenon_status (*statistics)(tenon_tensor* const* tensors, tenon_tensor* const* minus, uint64_t count,
                             uint32_t requested, double* values);
} tenon_run_tensors;
TENON_FREEZE(tenon_run_tensors, statistics, 40);

#ifdef __cplusplus
}
#endif
#endif
