/* Metric directions for callbacks: whether higher or lower values are better. An extension of the host.
 * tenon_run.metric returns the values. */
#ifndef TENON_RUN_METRICS_H
#define TENON_RUN_METRICS_H

#include "callback.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_RUN_METRICS "tenon.run-figures/1"

/* The table that get_extension(TENON_RUN_METRICS) returns. `run` is the argument of on_event. */
typedef struct tenon_run_metrics {
  uint64_t size;

  /* [train] Returns the direction of a metric. 1: higher is better, as declared by the metric. -1: lower is better, as
   * for losses. 0: neither or unknown, as for values that callbacks add. Available from run_setup. Returns
   * TENON_NOT_FOUND and lists similar names in the same cases as tenon_run.metric. */
  tenon_status (*direction)(const tenon_run* run, tenon_string name, int32_t* direction);
} tenon_run_metrics;
TENON_FREEZE(tenon_run_metrics, direction, 16);

#ifdef __cplusplus
}
#endif
#endif
