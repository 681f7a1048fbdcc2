/* The layout of the callback extension in deferred_work.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: the host requests it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_DEFERRED_WORK, "tenon.deferred-work/1");

SIZED(tenon_deferred_work, 16);
FIELD(tenon_deferred_work, finish, 8, tenon_status (*)(void*, tenon_string));
