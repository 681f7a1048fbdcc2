/* The state of a component for checkpoints, as an extension of the component (tenon_component.get_extension). Examples
 * are the best value and the remaining patience of a callback. */
#ifndef TENON_SAVED_STATE_H
#define TENON_SAVED_STATE_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_SAVED_STATE "tenon.saved-state/1"

typedef struct tenon_saved_state {
  uint64_t size;

  /* [train] Returns the state as bytes in the component's format, valid until the next call on `self`. Equal states
   * give equal bytes, so that checkpoints can be compared. */
  tenon_status (*save)(void* self, tenon_string* bytes);

  /* [train] Restores the state that `save` returned in this or an older version of the plugin. The instance was created
   * with the same parameters. Returns TENON_INVALID_ARGUMENT for bytes that it cannot read. */
  tenon_status (*load)(void* self, tenon_string bytes);
} tenon_saved_state;
TENON_FREEZE(tenon_saved_state, load, 24);

#ifdef __cplusplus
}
#endif
#endif
