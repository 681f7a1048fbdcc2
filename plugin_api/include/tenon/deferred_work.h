/* Work that a callback left in the run folder, as an extension of a callback (tenon_component.get_extension): values
 * that a server has not taken until the end of the run. No host requests this extension any longer. It remains for the
 * plugins that have it. docs/guides/tracking.md describes how a run is logged instead. */
#ifndef TENON_DEFERRED_WORK_H
#define TENON_DEFERRED_WORK_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_DEFERRED_WORK "tenon.deferred-work/1"

typedef struct tenon_deferred_work {
  uint64_t size;

  /* [train] Does the work in the run folder, an absolute path that no other process trains in. The instance was created
   * with the parameters in the plan.toml of the run, and receives no events. Returns TENON_OK if nothing is left to do.
   */
  tenon_status (*finish)(void* self, tenon_string folder);
} tenon_deferred_work;
TENON_FREEZE(tenon_deferred_work, finish, 16);

#ifdef __cplusplus
}
#endif
#endif
