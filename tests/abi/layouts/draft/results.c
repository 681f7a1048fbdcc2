/* The layout of the draft extension in results.h, checked as in 1_0.c. Compiled as C and as C++. */
#include "../1_0.c"

#include <tenon/draft/results.h>

TEXT(TENON_RESULTS, "tenon.draft.results/1");

SIZED(tenon_result, 80);
FIELD(tenon_result, name, 8, tenon_string);
FIELD(tenon_result, role, 24, uint32_t);
FIELD(tenon_result, is_list, 28, uint32_t);
FIELD(tenon_result, image, 32, tenon_string);
FIELD(tenon_result, classes, 48, tenon_string);
FIELD(tenon_result, doc, 64, tenon_string);

SIZED(tenon_results, 24);
FIELD(tenon_results, results, 8, tenon_status (*)(void*, const tenon_result* const**, uint64_t*));
FIELD(tenon_results, compute, 16,
      tenon_status (*)(void*, const tenon_frame*, tenon_tensor* const*, uint64_t, tenon_tensor**, tenon_tensor**,
                       uint64_t));
