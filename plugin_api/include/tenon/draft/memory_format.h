/* Whether a model needs the memory format that its author chose, as an extension of a model
 * (tenon_component.get_extension). With train.memory_format = "auto" the host passes images and the weights of 2-d
 * convolutions with the channels innermost: shapes and values are the same, and strides are not. A model without the
 * extension gets that format if it has a weight of four dimensions. A draft: it may change or be removed in any
 * release. */
#ifndef TENON_MEMORY_FORMAT_H
#define TENON_MEMORY_FORMAT_H

#include "../abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_MEMORY_FORMAT "tenon.draft.memory-format/1"

typedef struct tenon_memory_format {
  uint64_t size;

  /* [train] Sets *needs_contiguous to 1 if forward depends on the strides of images or weights, such as by view or
   * as_strided, or has no 2-d convolution, which alone gains from another format; otherwise to 0. With 1, "auto" keeps
   * all tensors C-contiguous. Called once, after create. */
  tenon_status (*needs_contiguous)(void* self, uint32_t* needs_contiguous);
} tenon_memory_format;
TENON_FREEZE(tenon_memory_format, needs_contiguous, 16);

#ifdef __cplusplus
}
#endif
#endif
