/* The progress of a run within its epoch, for callbacks. An extension of the host, in addition to the fields of
 * tenon_run. */
#ifndef TENON_RUN_PROGRESS_H
#define TENON_RUN_PROGRESS_H

#include "callback.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_RUN_PROGRESS "tenon.run-progress/1"

/* The result of read. The caller sets `size` first, and the host fills in the fields that `size` covers. */
typedef struct tenon_progress {
  uint64_t size;
  int64_t total_epochs;  /* number of planned epochs */
  int64_t step_in_epoch; /* number of completed optimizer steps in this epoch */
  /* number of samples that this process has trained on in this epoch */
  int64_t samples_in_epoch;
} tenon_progress;
TENON_FREEZE(tenon_progress, samples_in_epoch, 32);

/* The table that get_extension(TENON_RUN_PROGRESS) returns. */
typedef struct tenon_run_progress {
  uint64_t size;

  /* [train] Returns the progress at the event. `run` is the argument of on_event. */
  tenon_status (*read)(const tenon_run* run, tenon_progress* out);
} tenon_run_progress;
TENON_FREEZE(tenon_run_progress, read, 16);

#ifdef __cplusplus
}
#endif
#endif
