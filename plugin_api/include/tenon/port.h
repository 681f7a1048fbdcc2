/* Ports are the named input and output tensors of components. The run file connects them by name (`inputs = { logits =
 * "model.logits" }`). The host checks dtype and shape of every connection before the first step. */
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
  /* Comma-separated dimensions: a number, or a name for an extent that is the same throughout the component, as in
   * `N,3,H,W`. N is the batch size. `...` at the end: any further dimensions. `...S`: further dimensions that are the
   * same throughout the component. `*`: any shape. Empty: a scalar. */
  tenon_string shape;
  uint64_t dtypes; /* TENON_DTYPE_BIT(...) of the accepted or returned dtypes; TENON_ANY_DTYPE: all */
  tenon_string doc;
} tenon_port;
TENON_FREEZE(tenon_port, doc, 72);

#ifdef __cplusplus
}
#endif
#endif
