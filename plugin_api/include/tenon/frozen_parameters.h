/* The frozen parameters of a model, as an extension of a model (tenon_component.get_extension). build() declares
 * buffers and parameters with `requires_grad = false` alike, without TENON_TRAINABLE. A model that lists the latter
 * allows the host to treat them differently: a checkpoint may leave them out, because no step changes them. A host that
 * does not know an extension never requests it. */
#ifndef TENON_FROZEN_PARAMETERS_H
#define TENON_FROZEN_PARAMETERS_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_FROZEN_PARAMETERS "tenon.frozen-parameters/1"

typedef struct tenon_frozen_parameters {
  uint64_t size;

  /* [train] Returns the names in build() of the parameters that are not trainable, valid while self lives. Called after
   * build(). */
  tenon_status (*names)(void* self, const tenon_string** names, uint64_t* count);
} tenon_frozen_parameters;
TENON_FREEZE(tenon_frozen_parameters, names, 16);

#ifdef __cplusplus
}
#endif
#endif
