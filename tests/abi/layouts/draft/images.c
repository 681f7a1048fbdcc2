/* The layout of the draft extension in images.h, checked as in 1_0.c. Compiled as C and as C++. */
#include "../1_0.c"

#include <tenon/draft/images.h>

TEXT(TENON_IMAGES, "tenon.draft.images/1");

SAME(TENON_DECODE_RGB, 1);
SAME(TENON_DECODE_MASK, 2);
SAME(TENON_DECODE_STORED, 3);
SAME(TENON_IMAGE_MASK, 1);
SAME(TENON_IMAGE_BOXES, 2);
SAME(TENON_IMAGE_ROTATED_BOXES, 3);
SAME(TENON_IMAGE_KEYPOINTS, 4);
SAME(TENON_IMAGE_POLYGONS, 5);
SAME(TENON_BOXES_XYXY, 0);
SAME(TENON_BOXES_XYWH, 1);
SAME(TENON_BOXES_CXCYWH, 2);
SAME(TENON_MAX_IMAGES, 4);

SIZED(tenon_image_source, 72);
FIELD(tenon_image_source, place, 8, tenon_string);
FIELD(tenon_image_source, listed, 24, tenon_string);
FIELD(tenon_image_source, context, 40, void*);
FIELD(tenon_image_source, byte_count, 48, uint64_t);
FIELD(tenon_image_source, read, 56, tenon_status (*)(void*, void*));
FIELD(tenon_image_source, identify, 64, tenon_status (*)(void*, const tenon_text_sink*));

SIZED(tenon_image_info, 40);
FIELD(tenon_image_info, height, 8, int64_t);
FIELD(tenon_image_info, width, 16, int64_t);
FIELD(tenon_image_info, orientation, 24, int32_t);
FIELD(tenon_image_info, channels, 28, int32_t);
FIELD(tenon_image_info, bits, 32, int32_t);
FIELD(tenon_image_info, has_alpha, 36, uint32_t);

SIZED(tenon_pixels, 48);
FIELD(tenon_pixels, elements, 8, const void*);
FIELD(tenon_pixels, height, 16, int64_t);
FIELD(tenon_pixels, width, 24, int64_t);
FIELD(tenon_pixels, channels, 32, int32_t);
FIELD(tenon_pixels, dtype, 36, int32_t);
FIELD(tenon_pixels, orientation, 40, int32_t);
FIELD(tenon_pixels, reserved, 44, int32_t);

SIZED(tenon_image_target, 104);
FIELD(tenon_image_target, kind, 8, uint32_t);
FIELD(tenon_image_target, format, 12, uint32_t);
FIELD(tenon_image_target, values, 16, const void*);
FIELD(tenon_image_target, shape, 24, const int64_t*);
FIELD(tenon_image_target, ndim, 32, uint32_t);
FIELD(tenon_image_target, dtype, 36, int32_t);
FIELD(tenon_image_target, place, 40, tenon_string);
FIELD(tenon_image_target, fill, 56, double);
FIELD(tenon_image_target, min_visibility, 64, double);
FIELD(tenon_image_target, lengths, 72, const int64_t*);
FIELD(tenon_image_target, length_count, 80, uint64_t);
FIELD(tenon_image_target, pairs, 88, const int64_t*);
FIELD(tenon_image_target, pair_count, 96, uint64_t);

SIZED(tenon_image_input, 32);
FIELD(tenon_image_input, source, 8, const tenon_image_source*);
FIELD(tenon_image_input, targets, 16, const tenon_image_target* const*);
FIELD(tenon_image_input, target_count, 24, uint64_t);

SIZED(tenon_moved_target, 64);
FIELD(tenon_moved_target, values, 8, const void*);
FIELD(tenon_moved_target, shape, 16, const int64_t*);
FIELD(tenon_moved_target, ndim, 24, uint32_t);
FIELD(tenon_moved_target, reserved, 28, uint32_t);
FIELD(tenon_moved_target, kept_indices, 32, const int64_t*);
FIELD(tenon_moved_target, kept_images, 40, const int64_t*);
FIELD(tenon_moved_target, kept_count, 48, uint64_t);
FIELD(tenon_moved_target, lengths, 56, const int64_t*);

SIZED(tenon_image_format, 72);
FIELD(tenon_image_format, dtype, 8, int32_t);
FIELD(tenon_image_format, ndim, 12, uint32_t);
FIELD(tenon_image_format, shape, 16, const int64_t*);
FIELD(tenon_image_format, steps, 24, tenon_string);
FIELD(tenon_image_format, moving, 40, tenon_string);
FIELD(tenon_image_format, shifting, 56, tenon_string);

SIZED(tenon_image_list, 40);
FIELD(tenon_image_list, count, 8, uint64_t);
FIELD(tenon_image_list, context, 16, void*);
FIELD(tenon_image_list, open, 24, tenon_status (*)(void*, uint64_t, tenon_image_source*));
FIELD(tenon_image_list, found_orientation, 32, tenon_status (*)(void*, uint64_t, int32_t));

SIZED(tenon_images, 96);
FIELD(tenon_images, create, 8, tenon_status (*)(const tenon_params*, tenon_string, tenon_image_pipeline**));
FIELD(tenon_images, destroy, 16, void (*)(tenon_image_pipeline*));
FIELD(tenon_images, describe, 24, tenon_status (*)(const tenon_image_pipeline*, tenon_image_format*));
FIELD(tenon_images, examine, 32, tenon_status (*)(const tenon_image_pipeline*, const tenon_image_list*, uint64_t*));
FIELD(tenon_images, open_worker, 40, tenon_status (*)(const tenon_image_pipeline*, tenon_image_worker**));
FIELD(tenon_images, close_worker, 48, void (*)(tenon_image_worker*));
FIELD(tenon_images, inspect, 56, tenon_status (*)(tenon_image_worker*, const tenon_image_source*, tenon_image_info*));
FIELD(tenon_images, decode, 64,
      tenon_status (*)(tenon_image_worker*, const tenon_image_source*, uint32_t, tenon_pixels*));
FIELD(tenon_images, sample_indices, 72,
      tenon_status (*)(const tenon_image_pipeline*, int64_t, int64_t, uint64_t, int64_t*, uint64_t*));
FIELD(tenon_images, write, 80,
      tenon_status (*)(tenon_image_worker*, const tenon_image_input* const*, uint64_t, uint64_t, const tenon_sink*,
                       uint64_t, tenon_image_info*));
FIELD(tenon_images, moved, 88, tenon_status (*)(tenon_image_worker*, uint64_t, tenon_moved_target*));
