/* The layout of the draft extension in memory_format.h, checked as in 1_0.c. Compiled as C and as C++. */
#include "../1_0.c"

#include <tenon/draft/memory_format.h>

TEXT(TENON_MEMORY_FORMAT, "tenon.draft.memory-format/1");

SIZED(tenon_memory_format, 16);
FIELD(tenon_memory_format, needs_contiguous, 8, tenon_status (*)(void*, uint32_t*));
