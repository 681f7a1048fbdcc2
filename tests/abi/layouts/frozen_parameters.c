/* The layout of the model extension in frozen_parameters.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: a component provides it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_FROZEN_PARAMETERS, "tenon.frozen-parameters/1");

SIZED(tenon_frozen_parameters, 16);
FIELD(tenon_frozen_parameters, names, 8, tenon_status (*)(void*, const tenon_string**, uint64_t*));
