/* The layout of the model extension in decoding.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: a component provides it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_DECODING, "tenon.decoding/1");

SIZED(tenon_decoding_info, 56);
FIELD(tenon_decoding_info, tokens, 8, tenon_string);
FIELD(tenon_decoding_info, scores, 24, tenon_string);
FIELD(tenon_decoding_info, cache_count, 40, uint64_t);
FIELD(tenon_decoding_info, context, 48, int64_t);

SIZED(tenon_decoding, 24);
FIELD(tenon_decoding, describe, 8, tenon_status (*)(void*, const tenon_decoding_info**));
FIELD(tenon_decoding, forward, 16,
      tenon_status (*)(void*, const tenon_frame*, tenon_tensor* const*, uint64_t, tenon_tensor* const*, tenon_tensor**,
                       uint64_t, tenon_tensor**));
