/* A metric has states. It updates them batch by batch, the host reduces them over ranks, and the metric computes its
 * values from them at the end. A metric never uses a process group. */
#ifndef TENON_METRIC_H
#define TENON_METRIC_H

#include "host.h"
#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TENON_REDUCE_SUM = 1,
  TENON_REDUCE_MAX = 2,
  TENON_REDUCE_MIN = 3,
  /* Rows that tenon_host.append adds, for metrics over all samples, such as the area under a curve. The shape of the
   * state starts with 0. In update the state is empty. In compute it holds the rows of rank 0, then those of rank 1,
   * and so on, each in the order in which they were appended. So the rows of several states stay in the same order. */
  TENON_REDUCE_CONCATENATE = 4
};

/* A tensor that the host keeps for the metric. It is filled with `initial`, or emptied, before each evaluation. */
typedef struct tenon_state {
  uint64_t size;
  tenon_string name;
  const int64_t* shape;
  uint32_t ndim;
  int32_t dtype;
  uint32_t reduction; /* TENON_REDUCE_...: how the host combines the states of all ranks */
  uint32_t reserved;
  double initial;
} tenon_state;
TENON_FREEZE(tenon_state, initial, 56);

/* A value that the metric computes. */
typedef struct tenon_metric_value {
  uint64_t size;
  tenon_string name; /* name in the history, after the name of the data: `validation/accuracy` */
  int32_t direction; /* 1: higher is better, -1: lower is better, 0: neither */
  uint32_t reserved;
  tenon_string doc; /* description with the unit */
} tenon_metric_value;
TENON_FREEZE(tenon_metric_value, doc, 48);

typedef struct tenon_metric {
  uint64_t size;

  /* [train] */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);

  /* [train] Return the inputs, the states and the values of the metric. All are valid while self lives. */
  tenon_status (*ports)(void* self, const tenon_port* const** ports, uint64_t* count);
  tenon_status (*states)(void* self, const tenon_state* const** states, uint64_t* count);
  tenon_status (*values)(void* self, const tenon_metric_value* const** values, uint64_t* count);

  /* [train] Adds a batch to the states (frame->tensors), in place. Runs without autograd. */
  tenon_status (*update)(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count);

  /* [train] Computes the values from the reduced states, which are on the CPU. */
  tenon_status (*compute)(void* self, const tenon_frame* frame, double* values, uint64_t value_count);
} tenon_metric;
TENON_FREEZE(tenon_metric, compute, 64);

#ifdef __cplusplus
}
#endif
#endif
