/* The layout of the host's extensions for callbacks: run_metrics.h, run_progress.h and run_tensors.h, checked as in
 * 1_0.c. They were added after version 1.0 and belong to no version: the host provides them by id. Compiled as C
 * and as C++. */
#include "1_0.c"

TEXT(TENON_RUN_METRICS, "tenon.run-figures/1");
TEXT(TENON_RUN_PROGRESS, "tenon.run-progress/1");
TEXT(TENON_RUN_TENSORS, "tenon.run-tensors/1");

SIZED(tenon_run_metrics, 16);
FIELD(tenon_run_metrics, direction, 8, tenon_status (*)(const tenon_run*, tenon_string, int32_t*));

SIZED(tenon_progress, 32);
FIELD(tenon_progress, total_epochs, 8, int64_t);
FIELD(tenon_progress, step_in_epoch, 16, int64_t);
FIELD(tenon_progress, samples_in_epoch, 24, int64_t);

SIZED(tenon_run_progress, 16);
FIELD(tenon_run_progress, read, 8, tenon_status (*)(const tenon_run*, tenon_progress*));

SIZED(tenon_run_tensor, 40);
FIELD(tenon_run_tensor, name, 8, tenon_string);
FIELD(tenon_run_tensor, value, 24, tenon_tensor*);
FIELD(tenon_run_tensor, gradient, 32, tenon_tensor*);

SIZED(tenon_run_tensors, 40);
FIELD(tenon_run_tensors, count, 8, tenon_status (*)(const tenon_run*, uint64_t*));
FIELD(tenon_run_tensors, tensor, 16, tenon_status (*)(const tenon_run*, uint64_t, tenon_run_tensor*));
FIELD(tenon_run_tensors, copy, 24, tenon_status (*)(const tenon_tensor*, tenon_tensor**));
FIELD(tenon_run_tensors, statistics, 32,
      tenon_status (*)(tenon_tensor* const*, tenon_tensor* const*, uint64_t, uint32_t, double*));

SAME(TENON_STATISTIC_NORM, 1);
SAME(TENON_STATISTIC_MEAN, 2);
SAME(TENON_STATISTIC_ABS_MAX, 4);
SAME(TENON_STATISTIC_ZERO_SHARE, 8);
SAME(TENON_STATISTIC_NON_FINITE, 16);
