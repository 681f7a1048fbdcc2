/* The layout of the draft kind of component in transforms.h, checked as in 1_0.c. Compiled as C and as C++. */
#include "../1_0.c"

#include <tenon/draft/transforms.h>

SAME(TENON_DRAFT_TRANSFORM, 0x10001);
SAME(TENON_WARP_BILINEAR, 0);
SAME(TENON_WARP_NEAREST, 1);
SAME(TENON_MOVES(TENON_IMAGE_BOXES), 4);
SAME(TENON_MOVES_ALL, 62);

SIZED(tenon_moving_target, 88);
FIELD(tenon_moving_target, kind, 8, uint32_t);
FIELD(tenon_moving_target, dtype, 12, int32_t);
FIELD(tenon_moving_target, values, 16, void*);
FIELD(tenon_moving_target, shape, 24, const int64_t*);
FIELD(tenon_moving_target, ndim, 32, uint32_t);
FIELD(tenon_moving_target, reserved, 36, uint32_t);
FIELD(tenon_moving_target, fill, 40, double);
FIELD(tenon_moving_target, lengths, 48, const int64_t*);
FIELD(tenon_moving_target, pairs, 56, const int64_t*);
FIELD(tenon_moving_target, pair_count, 64, uint64_t);
FIELD(tenon_moving_target, kept, 72, uint8_t*);
FIELD(tenon_moving_target, kept_count, 80, uint64_t);

SIZED(tenon_image_warp, 128);
FIELD(tenon_image_warp, matrix[0], 8, double);
FIELD(tenon_image_warp, matrix[8], 72, double);
FIELD(tenon_image_warp, height, 80, int64_t);
FIELD(tenon_image_warp, width, 88, int64_t);
FIELD(tenon_image_warp, interpolation, 96, uint32_t);
FIELD(tenon_image_warp, reserved, 100, uint32_t);
FIELD(tenon_image_warp, fill[0], 104, double);
FIELD(tenon_image_warp, fill[2], 120, double);

SIZED(tenon_moving_image, 72);
FIELD(tenon_moving_image, context, 8, void*);
FIELD(tenon_moving_image, pixels, 16, uint8_t*);
FIELD(tenon_moving_image, height, 24, int64_t);
FIELD(tenon_moving_image, width, 32, int64_t);
FIELD(tenon_moving_image, targets, 40, tenon_moving_target* const*);
FIELD(tenon_moving_image, target_count, 48, uint64_t);
FIELD(tenon_moving_image, resize, 56, tenon_status (*)(struct tenon_moving_image*, int64_t, int64_t));
FIELD(tenon_moving_image, warp, 64, tenon_status (*)(struct tenon_moving_image*, const tenon_image_warp*));

SIZED(tenon_transform, 48);
FIELD(tenon_transform, create, 8, tenon_status (*)(const tenon_host*, const tenon_params*, void**));
FIELD(tenon_transform, destroy, 16, void (*)(void*));
FIELD(tenon_transform, apply, 24, tenon_status (*)(void*, tenon_moving_image*, uint64_t));
FIELD(tenon_transform, moved_kinds, 32, uint32_t);
FIELD(tenon_transform, reserved, 36, uint32_t);
FIELD(tenon_transform, output_size, 40, tenon_status (*)(void*, int64_t*, int64_t*));
