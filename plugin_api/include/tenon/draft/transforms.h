/* A transform of images, as a component of a plugin. The transforms of every image dataset can then name it, next to
 * those of the host: transforms = ["random_resized_crop(224)", "vignette(0.5, p=0.3)", "normalize()"]. Its arguments
 * are the parameters of the component, by position in their order or by name. The host adds `p`, the probability that
 * the transform is applied, unless the component has a parameter with this name. Numbers, lists of them in parentheses,
 * words, `true` and `false` can be written, and other texts in single quotes. A draft: it may change or be removed in
 * any release. */
#ifndef TENON_TRANSFORMS_H
#define TENON_TRANSFORMS_H

#include "images.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TENON_DRAFT_TRANSFORM = 0x10001 }; /* tenon_component.kind; table: tenon_transform */

/* A target that moves with the image of tenon_moving_image. `apply` changes its values in place. */
typedef struct tenon_moving_target {
  uint64_t size;
  uint32_t kind; /* TENON_IMAGE_... */
  int32_t dtype; /* of a mask: TENON_UINT8, TENON_INT32 or TENON_FLOAT32; TENON_FLOAT32 for all others */
  /* C-contiguous. As in tenon_image_target, but boxes always are left, top, right and bottom. What lies outside of the
   * image after `apply` is clipped or dropped as after any transform. */
  void* values;
  const int64_t* shape;
  uint32_t ndim;
  uint32_t reserved;
  double fill;            /* of a mask: value of the pixels outside of the image */
  const int64_t* lengths; /* polygons: points of each */
  const int64_t* pairs;   /* keypoints: two points each, which a mirrored image exchanges */
  uint64_t pair_count;
  /* Boxes, rotated boxes and polygons: 1 for each row or polygon. Those that `apply` sets to 0 are dropped. */
  uint8_t* kept;
  uint64_t kept_count;
} tenon_moving_target;
TENON_FREEZE(tenon_moving_target, kept_count, 88);

enum { TENON_WARP_BILINEAR = 0, TENON_WARP_NEAREST = 1 };

typedef struct tenon_image_warp {
  uint64_t size;
  /* From positions before to positions after, in three rows: x' = (m[0] x + m[1] y + m[2]) / w and y' = (m[3] x +
   * m[4] y + m[5]) / w with w = m[6] x + m[7] y + m[8]. It has an inverse. */
  double matrix[9];
  int64_t height; /* of the image after it */
  int64_t width;
  uint32_t interpolation; /* TENON_WARP_... of the image; masks take the nearest pixel */
  uint32_t reserved;
  double fill[3]; /* red, green and blue outside of the image before, 0 to 255 */
} tenon_image_warp;
TENON_FREEZE(tenon_image_warp, fill, 128);

/* An image on its way through a list of transforms. It is borrowed for one call of `apply`. */
typedef struct tenon_moving_image {
  uint64_t size;
  void* context; /* of the host */
  /* uint8, C-contiguous [height, width, 3]: red, green and blue. `apply` changes them in place. */
  uint8_t* pixels;
  int64_t height;
  int64_t width;
  tenon_moving_target* const* targets;
  uint64_t target_count;
  /* [worker] Replaces the image by one of another size, and each mask by one of this size: `pixels`, `height` and
   * `width` change, and `values` of masks. The new pixels are 0, and those of masks their fill. The old ones can be
   * read until the next call, or until `apply` returns. */
  tenon_status (*resize)(struct tenon_moving_image* image, int64_t height, int64_t width);
  /* [worker] Moves the image and all targets. Boxes become the smallest upright ones around them, and the exchanged
   * points of a mirrored image change places. */
  tenon_status (*warp)(struct tenon_moving_image* image, const tenon_image_warp* warp);
} tenon_moving_image;
TENON_FREEZE(tenon_moving_image, warp, 72);

/* Bits of tenon_transform.moved_kinds. */
#define TENON_MOVES(kind) (1u << (kind))
#define TENON_MOVES_ALL                                                                                      \
  (TENON_MOVES(TENON_IMAGE_MASK) | TENON_MOVES(TENON_IMAGE_BOXES) | TENON_MOVES(TENON_IMAGE_ROTATED_BOXES) | \
   TENON_MOVES(TENON_IMAGE_KEYPOINTS) | TENON_MOVES(TENON_IMAGE_POLYGONS))

typedef struct tenon_transform {
  uint64_t size;

  /* [train] As in every table. `params`: the arguments of one entry of a list of transforms. */
  tenon_status (*create)(const tenon_host* host, const tenon_params* params, void** self);
  void (*destroy)(void* self);

  /* [worker] Transforms an image and its targets. The result depends only on `self`, the image, the targets and the
   * seed; several threads call it at the same time. `warp` and `resize` are for transforms with moved_kinds. */
  tenon_status (*apply)(void* self, tenon_moving_image* image, uint64_t seed);

  /* The targets that `apply` moves with the pixels: TENON_MOVES(TENON_IMAGE_BOXES) | ...; 0 if all pixels keep their
   * places. If it is not 0, a sample with a target of another kind is refused, because its target would stay behind. */
  uint32_t moved_kinds;
  uint32_t reserved;

  /* [train] [worker] Optional, for transforms with moved_kinds. Replaces the size of an image by that of the result; -1
   * is an extent that is not known or differs between images. Without it, sizes may differ between images. A transform
   * without moved_kinds keeps the size. */
  tenon_status (*output_size)(void* self, int64_t* height, int64_t* width);
} tenon_transform;
TENON_FREEZE(tenon_transform, output_size, 48);

#ifdef __cplusplus
}
#endif
#endif
