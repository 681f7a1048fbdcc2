/* The layout of the extension in index_inputs.h, checked as in 1_0.c. It was added after version 1.0 and belongs
 * to no version: a component provides it by id. Compiled as C and as C++. */
#include <tenon/index_inputs.h>

#include "1_0.c"

TEXT(TENON_INDEX_INPUTS, "tenon.index-inputs/1");
SAME(TENON_HAS_IGNORE_INDEX, 1);

SIZED(tenon_index_input, 64);
FIELD(tenon_index_input, input, 8, tenon_string);
FIELD(tenon_index_input, dimension, 24, tenon_string);
FIELD(tenon_index_input, limit, 40, int64_t);
FIELD(tenon_index_input, flags, 48, uint32_t);
FIELD(tenon_index_input, reserved, 52, uint32_t);
FIELD(tenon_index_input, ignore_index, 56, int64_t);

SIZED(tenon_index_inputs, 16);
FIELD(tenon_index_inputs, inputs, 8, tenon_status (*)(void*, const tenon_index_input* const**, uint64_t*));
