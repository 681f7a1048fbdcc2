/* Which way the figures of a run are better, for callbacks, as an extension of the host: beside their values, which
 * tenon_run.figure tells. */
#ifndef TENON_RUN_FIGURES_H
#define TENON_RUN_FIGURES_H

#include "callback.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_RUN_FIGURES "tenon.run-figures/1"

/* What get_extension(TENON_RUN_FIGURES) gives. `run` is what on_event was given. */
typedef struct tenon_run_figures {
  uint64_t size;

  /* [train] 1: a higher value of the figure is better, as its metric says; -1: a lower one, as of losses; 0: neither,
   * or nobody has said, as of the figures that callbacks add. Known from run_setup on. TENON_NOT_FOUND, with near
   * names, where tenon_run.figure gives it. */
  tenon_status (*direction)(const tenon_run* run, tenon_string name, int32_t* direction);
} tenon_run_figures;
TENON_FREEZE(tenon_run_figures, direction, 16);

#ifdef __cplusplus
}
#endif
#endif
