/* A loss: tensors to one scalar to be minimised, and the weight that it was averaged over. */
#ifndef TENON_LOSS_H
#define TENON_LOSS_H

#include "host.h"
#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What forward fills in. The host sets `size` and clears the rest. */
typedef struct tenon_loss_result {
  uint64_t size;
  tenon_tensor* loss; /* a scalar that requires gradients: the mean over `weight` items */
  /* How much the mean was taken over: samples, or tokens that are not ignored. It makes the gradient of several
   * micro-batches or ranks that of the one big batch. Either a number, or (if not null) a scalar tensor, which spares a
   * wait for the device when the count is known only there. Where it is 0 the loss is not looked at and gives no
   * gradient. */
  double weight;
  tenon_tensor* weight_tensor;
  /* One element for each of the loss's parts, in their order, null at first: scalars, means over the same weight. Only
   * looked at, not minimised. */
  tenon_tensor** parts;
  uint64_t part_count;
} tenon_loss_result;
TENON_FREEZE(tenon_loss_result, part_count, 48);

typedef struct tenon_loss {
  uint64_t size;

  /* [train] */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);

  /* [train] The inputs, in the order in which forward takes them; valid while self lives. */
  tenon_status (*ports)(void* self, const tenon_port* const** ports, uint64_t* count);

  /* [train] Re-entrant, like a model's. */
  tenon_status (*forward)(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                          tenon_loss_result* result);

  /* [train] Optional. Names of what the loss is made of (`box`, `class`), for the history: `train/<loss>.<part>`. Valid
   * while self lives. */
  tenon_status (*parts)(void* self, const tenon_string** names, uint64_t* count);
} tenon_loss;
TENON_FREEZE(tenon_loss, parts, 48);

#ifdef __cplusplus
}
#endif
#endif
