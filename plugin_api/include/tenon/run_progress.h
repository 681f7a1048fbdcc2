/* How far a run has come within its epoch, for callbacks, as an extension of the host: beside what tenon_run says. */
#ifndef TENON_RUN_PROGRESS_H
#define TENON_RUN_PROGRESS_H

#include "callback.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_RUN_PROGRESS "tenon.run-progress/1"

/* What the host fills in, as far as `size` reaches, which the caller sets first. */
typedef struct tenon_progress {
  uint64_t size;
  int64_t total_epochs;     /* planned */
  int64_t step_in_epoch;    /* optimizer steps done in this epoch */
  int64_t samples_in_epoch; /* that this process has trained on in this epoch */
} tenon_progress;
TENON_FREEZE(tenon_progress, samples_in_epoch, 32);

/* What get_extension(TENON_RUN_PROGRESS) gives. */
typedef struct tenon_run_progress {
  uint64_t size;

  /* [train] The progress at the event. `run` is what on_event was given. */
  tenon_status (*read)(const tenon_run* run, tenon_progress* out);
} tenon_run_progress;
TENON_FREEZE(tenon_run_progress, read, 16);

#ifdef __cplusplus
}
#endif
#endif
