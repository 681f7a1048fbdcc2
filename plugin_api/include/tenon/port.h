/* Ports: the named tensors that components take and give. The run file connects them by name
 * (`inputs = { logits = "model.logits" }`), and the host checks dtype and shape wherever two meet, before the first
 * step.
 */
#ifndef TENON_PORT_H
#define TENON_PORT_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TENON_INPUT = 0, TENON_OUTPUT = 1 };

typedef struct tenon_port {
  uint64_t size;
  uint32_t direction; /* TENON_INPUT or TENON_OUTPUT */
  uint32_t reserved;
  tenon_string name; /* lower_snake_case */
  /* Dimensions: a number, or a name that stands for one extent throughout the component: `N,3,H,W`. N is the batch.
   * `...` at the end: any further dimensions; `...S`: further dimensions that are the same throughout the component.
   * `*`: any shape at all. Empty: a scalar. */
  tenon_string shape;
  uint64_t dtypes; /* TENON_DTYPE_BIT(...) of those it takes or gives; TENON_ANY_DTYPE: all */
  tenon_string doc;
} tenon_port;
TENON_FREEZE(tenon_port, doc, 72);

#ifdef __cplusplus
}
#endif
#endif
