/* The layout of the dataset extensions in sample_order.h, checked as in 1_0.c. They were added after version 1.0
 * and belong to no version: a component provides them by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_SAMPLE_LENGTHS, "tenon.sample-lengths/1");
TEXT(TENON_SAMPLE_WEIGHTS, "tenon.sample-weights/1");

SIZED(tenon_sample_lengths, 16);
FIELD(tenon_sample_lengths, lengths, 8, tenon_status (*)(void*, int64_t*));

SIZED(tenon_sample_weights, 16);
FIELD(tenon_sample_weights, weights, 8, tenon_status (*)(void*, double*));
