/* The layout of the draft extension in loss_sums.h, checked as in 1_0.c. Compiled as C and as C++. */
#include "../1_0.c"

#include <tenon/draft/loss_sums.h>

TEXT(TENON_LOSS_SUMS, "tenon.draft.loss-sums/1");

SIZED(tenon_loss_sums, 16);
FIELD(tenon_loss_sums, returns_sums, 8, tenon_status (*)(void*, uint32_t*));
