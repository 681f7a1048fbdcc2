/* The layout of the dataset extension in prepare.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: a component provides it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_PREPARE, "tenon.prepare/1");

SIZED(tenon_prepare, 16);
FIELD(tenon_prepare, prepare, 8, tenon_status (*)(const tenon_host*, const tenon_params*));
