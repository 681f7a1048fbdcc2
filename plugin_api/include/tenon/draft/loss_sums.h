/* A loss that is a sum over items, as an extension of a loss (tenon_component.get_extension). Some batches have no
 * items: a detector adds up the errors of all places and divides them by the number of objects, and an image may have
 * none. The gradient of a step, however it is split into batches and ranks, is that of the sum over all of them,
 * divided by their number of items or by 1. The host's table of this id has no function; a host without it takes the
 * results for means. A draft: it may change or be removed in any release. */
#ifndef TENON_LOSS_SUMS_H
#define TENON_LOSS_SUMS_H

#include "../abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_LOSS_SUMS "tenon.draft.loss-sums/1"

typedef struct tenon_loss_sums {
  uint64_t size;

  /* [train] Sets *result to 1 if forward returns sums: `loss` and the parts are sums over the items of the batch, and
   * `weight` is their number. The sums count also if it is 0. With 0 the loss returns means, as without the extension.
   */
  tenon_status (*returns_sums)(void* self, uint32_t* result);
} tenon_loss_sums;
TENON_FREEZE(tenon_loss_sums, returns_sums, 16);

#ifdef __cplusplus
}
#endif
#endif
