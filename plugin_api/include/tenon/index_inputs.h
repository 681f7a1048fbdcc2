/* Inputs that hold indices, such as classes or tokens, as an extension of a model, loss or metric
 * (tenon_component.get_extension). The host checks the fields of a dataset that are connected to them while they are in
 * host memory. Without this check, a kernel of a CUDA device that reads out of range ends the process's use of the
 * device, and the error names no sample. A host that does not know the extension never requests it. */
#ifndef TENON_INDEX_INPUTS_H
#define TENON_INDEX_INPUTS_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_INDEX_INPUTS "tenon.index-inputs/1"

enum { TENON_HAS_IGNORE_INDEX = 1u /* `ignore_index` is accepted, too */ };

/* The elements of `input` are in [0, limit), or equal to ignore_index. */
typedef struct tenon_index_input {
  uint64_t size;
  tenon_string input; /* the name of an input port with an integer dtype */
  /* A named dimension of the component's input ports, such as `C` of `N,C,...S`: its extent is the limit. Empty:
   * `limit` is the limit. */
  tenon_string dimension;
  int64_t limit;
  uint32_t flags; /* TENON_HAS_IGNORE_INDEX */
  uint32_t reserved;
  int64_t ignore_index;
} tenon_index_input;
TENON_FREEZE(tenon_index_input, ignore_index, 64);

typedef struct tenon_index_inputs {
  uint64_t size;

  /* [train] Returns the inputs that hold indices, valid while self lives. Called once, after create. */
  tenon_status (*inputs)(void* self, const tenon_index_input* const** inputs, uint64_t* count);
} tenon_index_inputs;
TENON_FREEZE(tenon_index_inputs, inputs, 16);

#ifdef __cplusplus
}
#endif
#endif
