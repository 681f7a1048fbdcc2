/* Further names of a model's tensors, as an extension of a model (tenon_component.get_extension). In PyTorch a tied
 * tensor has several names in the state_dict, and safetensors stores it under one of them. Another library may have the
 * same architecture with other names: its files load if the model lists these. A host that does not know an
 * extension never requests it. */
#ifndef TENON_TIED_WEIGHTS_H
#define TENON_TIED_WEIGHTS_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_TIED_WEIGHTS "tenon.tied-weights/1"

typedef struct tenon_tied_weight {
  tenon_string name;   /* the further name: `lm_head.weight` */
  tenon_string tensor; /* the name in build(): `transformer.wte.weight` */
} tenon_tied_weight;   /* frozen, like its members */

TENON_STATIC_ASSERT(sizeof(tenon_tied_weight) == 32, "tenon_tied_weight is frozen");

typedef struct tenon_tied_weights {
  uint64_t size;

  /* [train] Returns the names, valid while self lives. Called after build(). A file of weights may have the tensor
   * under any of its names, or under several with equal values. */
  tenon_status (*names)(void* self, const tenon_tied_weight** names, uint64_t* count);
} tenon_tied_weights;
TENON_FREEZE(tenon_tied_weights, names, 16);

#ifdef __cplusplus
}
#endif
#endif
