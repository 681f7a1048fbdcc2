/* The layout of the draft extension in validation.h, checked as in 1_0.c. Compiled as C and as C++. */
#include "../1_0.c"

#include <tenon/draft/validation.h>

TEXT(TENON_VALIDATION, "tenon.draft.validation/1");

SIZED(tenon_exception, 40);
FIELD(tenon_exception, check, 8, tenon_string);
FIELD(tenon_exception, reason, 24, tenon_string);

SIZED(tenon_validation, 16);
FIELD(tenon_validation, exceptions, 8, tenon_status (*)(const tenon_exception* const**, uint64_t*));
