/* Continuing sequences token by token, as an extension of a model (tenon_component.get_extension). A model without it
 * computes all tokens again for each new one. With it, the host keeps what the model needs of the previous tokens, the
 * cache: keys and values of attention layers, or recurrent states. A host that does not know an extension never
 * requests it. */
#ifndef TENON_DECODING_H
#define TENON_DECODING_H

#include "host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_DECODING "tenon.decoding/1"

typedef struct tenon_decoding_info {
  uint64_t size;
  tenon_string tokens;  /* name of the int64 input [N, T] with the tokens so far. The other inputs are the source. */
  tenon_string scores;  /* name of the output [N, T, V] with the scores (logits) of the token after each of `tokens` */
  uint64_t cache_count; /* number of tensors in the cache, at least 1 */
  int64_t context;      /* The most tokens of a sequence; 0: no limit */
} tenon_decoding_info;
TENON_FREEZE(tenon_decoding_info, context, 56);

typedef struct tenon_decoding {
  uint64_t size;

  /* [train] Returns the description, valid while self lives. */
  tenon_status (*describe)(void* self, const tenon_decoding_info** info);

  /* [train] Reads further tokens and returns the scores of the token after the last of them, [N, V]. They equal those
   * of forward after all tokens so far, except for rounding. Re-entrant, as forward is: it depends only on its
   * arguments and the frame's tensors. There are no gradients. All sequences of a batch have equally many tokens.
   *
   * `inputs` has the order of the input ports. In the first call `cache` is null, and all inputs are given; `tokens`
   * has one token or more. In later calls `cache` holds the tensors of an earlier call, `tokens` holds one new token,
   * [N, 1], and the other inputs are null: the cache includes what the model needs of the source.
   *
   * `next_cache` receives cache_count tensors: handles of the frame or of `cache`. Dimension 0 of each is the batch,
   * and a row depends only on the same row of the inputs. So the host can select, repeat and reorder rows between two
   * calls. The tensors of `cache` must not change. */
  tenon_status (*forward)(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                          tenon_tensor* const* cache, tenon_tensor** next_cache, uint64_t cache_count,
                          tenon_tensor** scores);
} tenon_decoding;
TENON_FREEZE(tenon_decoding, forward, 24);

#ifdef __cplusplus
}
#endif
#endif
