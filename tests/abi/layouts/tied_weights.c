/* The layout of the model extension in tied_weights.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: a component provides it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_TIED_WEIGHTS, "tenon.tied-weights/1");

FIELD(tenon_tied_weight, name, 0, tenon_string);
FIELD(tenon_tied_weight, tensor, 16, tenon_string);

SIZED(tenon_tied_weights, 16);
FIELD(tenon_tied_weights, names, 8, tenon_status (*)(void*, const tenon_tied_weight**, uint64_t*));
