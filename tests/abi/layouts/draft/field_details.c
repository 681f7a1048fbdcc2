/* The layout of the draft extension in field_details.h, checked as in 1_0.c. Compiled as C and as C++. */
#include "../1_0.c"

#include <tenon/draft/field_details.h>

TEXT(TENON_FIELD_DETAILS, "tenon.draft.field-details/1");

SAME(TENON_FIELD_NUMBERS, 0);
SAME(TENON_FIELD_BOXES, 1);
SAME(TENON_FIELD_KEYPOINTS, 2);
SAME(TENON_FIELD_ANGLES, 3);

SIZED(tenon_field_detail, 72);
FIELD(tenon_field_detail, field, 8, tenon_string);
FIELD(tenon_field_detail, role, 24, uint32_t);
FIELD(tenon_field_detail, reserved, 28, uint32_t);
FIELD(tenon_field_detail, image, 32, tenon_string);
FIELD(tenon_field_detail, classes, 48, tenon_string);
FIELD(tenon_field_detail, least_extent, 64, int64_t);

SIZED(tenon_field_details, 16);
FIELD(tenon_field_details, details, 8, tenon_status (*)(void*, const tenon_field_detail* const**, uint64_t*));
