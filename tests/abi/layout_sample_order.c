/* The extensions of datasets in sample_order.h, held to their layout in the way of layout_1_0.c. They came after
 * version 1.0 and belong to no version: a component gives them by their ids. Compiled as C and as C++. */
#include "layout_1_0.c"

TEXT(TENON_SAMPLE_LENGTHS, "tenon.sample-lengths/1");
TEXT(TENON_SAMPLE_WEIGHTS, "tenon.sample-weights/1");

SIZED(tenon_sample_lengths, 16);
FIELD(tenon_sample_lengths, lengths, 8, tenon_status (*)(void*, int64_t*));

SIZED(tenon_sample_weights, 16);
FIELD(tenon_sample_weights, weights, 8, tenon_status (*)(void*, double*));
