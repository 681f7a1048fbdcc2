/* What a component keeps from step to step and would lose with the process, as an extension of the component
 * (tenon_component.get_extension): a callback's best figure, a patience that is half used up. */
#ifndef TENON_SAVED_STATE_H
#define TENON_SAVED_STATE_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_SAVED_STATE "tenon.saved-state/1"

typedef struct tenon_saved_state {
  uint64_t size;

  /* [train] The state as bytes of the component's own, valid until the next call on `self`. Equal states give equal
   * bytes, so that a saved run can be compared with another. */
  tenon_status (*save)(void* self, tenon_string* bytes);

  /* [train] Takes on the state that a `save` gave, of this version of the plugin or an older one, on an instance that
   * was created with the same parameters. TENON_INVALID_ARGUMENT for bytes that it cannot read. */
  tenon_status (*load)(void* self, tenon_string bytes);
} tenon_saved_state;
TENON_FREEZE(tenon_saved_state, load, 24);

#ifdef __cplusplus
}
#endif
#endif
