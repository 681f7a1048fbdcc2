/* A loss computes a mean to minimise from its input tensors, and the weight of that mean. */
#ifndef TENON_LOSS_H
#define TENON_LOSS_H

#include "host.h"
#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of forward. The host sets `size` and clears the rest. */
typedef struct tenon_loss_result {
  uint64_t size;
  tenon_tensor* loss; /* a scalar that requires grad: the mean over `weight` items */
  /* The number of items in the mean: samples, or tokens that are not ignored. The host uses it to make the gradient of
   * several micro-batches or ranks equal to that of one large batch. It is a number, or a scalar tensor if
   * `weight_tensor` is not null. The tensor avoids a synchronisation if only the device knows the count. If the weight
   * is 0, the loss is ignored and contributes no gradient. */
  double weight;
  tenon_tensor* weight_tensor;
  /* One element for each part of the loss, in the order of parts(), null at first: scalars, means over the same weight.
   * Parts are only reported, not minimised. */
  tenon_tensor** parts;
  uint64_t part_count;
} tenon_loss_result;
TENON_FREEZE(tenon_loss_result, part_count, 48);

typedef struct tenon_loss {
  uint64_t size;

  /* [train] */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);

  /* [train] Returns the inputs, in the order of the arguments of forward, valid while self lives. */
  tenon_status (*ports)(void* self, const tenon_port* const** ports, uint64_t* count);

  /* [train] Computes the loss. Re-entrant, like forward of a model. */
  tenon_status (*forward)(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                          tenon_loss_result* result);

  /* [train] Optional. Returns the names of the parts of the loss (`box`, `class`), for the history:
   * `train/<loss>.<part>`. Valid while self lives. */
  tenon_status (*parts)(void* self, const tenon_string** names, uint64_t* count);
} tenon_loss;
TENON_FREEZE(tenon_loss, parts, 48);

#ifdef __cplusplus
}
#endif
#endif
