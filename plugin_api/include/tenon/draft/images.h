/* Images for datasets, as an extension of the host (tenon_host.get_extension): decoding, and the transforms of a run
 * file, applied to an image and to what moves with it: masks, further images, boxes, keypoints and polygons. The pixels
 * are those of the bundled datasets. docs/reference/transforms.md lists the transforms. JPEG, PNG, WebP, TIFF,
 * BMP and PNM are read. The host loads its image library when a plugin first requests this table. A draft: it may
 * change or be removed in any release.
 *
 * Coordinates are in pixels from the top left corner of the upright image: the first pixel covers 0 to 1. */
#ifndef TENON_IMAGES_H
#define TENON_IMAGES_H

#include "../dataset.h"
#include "../tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_IMAGES "tenon.draft.images/1"

/* The bytes of an image file. Everything is borrowed for the call that receives it. */
typedef struct tenon_image_source {
  uint64_t size;
  tenon_string place;  /* names the image in messages and caches; without `read`, the path of the file */
  tenon_string listed; /* optional: where a file lists it, for messages: `photos.csv:12` */
  void* context;
  uint64_t byte_count; /* used with `read` */
  /* [worker] Optional. Copies `byte_count` bytes of an image that is not a separate file. Its error message names the
   * image; the status of bytes that cannot be read is TENON_BAD_DATA. */
  tenon_status (*read)(void* context, void* bytes);
  /* [worker] Required with `read`. Puts a text that identifies the bytes, such as path, position, size, and time of the
   * last change. A cache on disk uses it. */
  tenon_status (*identify)(void* context, const tenon_text_sink* sink);
} tenon_image_source;
TENON_FREEZE(tenon_image_source, identify, 72);

/* If `write` reads a cache, height and width are known, and the others are 0. */
typedef struct tenon_image_info {
  uint64_t size;
  int64_t height; /* of the upright image */
  int64_t width;
  int32_t orientation; /* EXIF 2.3, tag 274: 1 to 8, which is applied already */
  int32_t channels;    /* in the file: 1 grey or palette, 2 grey and alpha, 3 colour, 4 colour and alpha, or CMYK */
  int32_t bits;        /* in the file, per channel */
  uint32_t has_alpha;  /* 0 or 1 */
} tenon_image_info;
TENON_FREEZE(tenon_image_info, has_alpha, 40);

enum {
  TENON_DECODE_RGB = 1,  /* uint8 [height, width, 3], as `write` reads an image: red, green, blue */
  TENON_DECODE_MASK = 2, /* uint8 [height, width, 1]: the grey levels or palette indices of a PNG as stored */
  /* [height, width, 1 to 4]: the channels and values of the file: grey or red, green, blue, then alpha. 8 bits as
   * uint8, 16 bits as int32, numbers of a TIFF as float32. Palettes and CMYK become colours. Alpha of a TIFF is dropped
   * unless it is 8-bit RGBA. */
  TENON_DECODE_STORED = 3
};

typedef struct tenon_pixels {
  uint64_t size;
  const void* elements; /* C-contiguous [height, width, channels], borrowed until the next `decode` with the worker */
  int64_t height;
  int64_t width;
  int32_t channels;
  int32_t dtype;       /* TENON_UINT8, TENON_INT32 or TENON_FLOAT32 */
  int32_t orientation; /* as in tenon_image_info */
  int32_t reserved;
} tenon_pixels;
TENON_FREEZE(tenon_pixels, reserved, 48);

/* What moves with an image. Blurring, erasing and changes of colour leave it as it is. */
enum {
  /* uint8, int32 or float32 [height, width], a mask or a depth map: each pixel takes the value of the nearest
   * one, and `fill` outside of the image */
  TENON_IMAGE_MASK = 1,
  /* float32 [n, 4] in the form `format`. They are clipped to the image, and a turned box becomes the box around it.
   * Rows without an area are dropped. */
  TENON_IMAGE_BOXES = 2,
  /* float32 [n, 5]: centre x and y, width, height, and the angle in degrees, clockwise. They are not clipped. The angle
   * becomes one from -90 to less than 90. */
  TENON_IMAGE_ROTATED_BOXES = 3,
  /* float32 [n, points, 2] or [n, points, 3]: x, y, and a number that is above 0 for a known point. Such a point that
   * leaves the image becomes 0, 0, 0. A point with the number 0 stays 0, 0, 0. */
  TENON_IMAGE_KEYPOINTS = 4,
  /* float32 [points, 2]: polygons one after the other, with `lengths`. They are clipped to the image. */
  TENON_IMAGE_POLYGONS = 5
};

enum {
  TENON_BOXES_XYXY = 0,  /* left, top, right, bottom */
  TENON_BOXES_XYWH = 1,  /* left, top, width, height */
  TENON_BOXES_CXCYWH = 2 /* centre x and y, width, height */
};

typedef struct tenon_image_target {
  uint64_t size;
  uint32_t kind;      /* TENON_IMAGE_... */
  uint32_t format;    /* TENON_BOXES_... */
  const void* values; /* C-contiguous; borrowed for the call */
  const int64_t* shape;
  uint32_t ndim;
  int32_t dtype;      /* of a mask; TENON_FLOAT32 for all others */
  tenon_string place; /* names a mask in messages, such as its path; may be empty */
  double fill;        /* of a mask: value of the pixels outside of the image, which the dtype can represent */
  /* Boxes, rotated boxes and polygons: rows of which a smaller part remains in the image are dropped, 0 to 1. Rows of
   * which nothing remains are always dropped. */
  double min_visibility;
  const int64_t* lengths; /* polygons: points of each */
  uint64_t length_count;
  const int64_t* pairs; /* keypoints: two points each, which a mirrored image exchanges */
  uint64_t pair_count;
} tenon_image_target;
TENON_FREEZE(tenon_image_target, pair_count, 104);

/* One image of a sample. */
typedef struct tenon_image_input {
  uint64_t size;
  const tenon_image_source* source;
  const tenon_image_target* const* targets; /* of the same kinds and layouts for each image of a sample */
  uint64_t target_count;
} tenon_image_input;
TENON_FREEZE(tenon_image_input, target_count, 32);

enum { TENON_MAX_IMAGES = 4 }; /* of one sample */

/* A target after `write`, borrowed until the next call with the worker. */
typedef struct tenon_moved_target {
  uint64_t size;
  const void* values; /* in the form and dtype of the target */
  const int64_t* shape;
  uint32_t ndim;
  uint32_t reserved;
  /* Of all but masks, for each row or polygon that remains: its row or polygon before, and the image that it belongs
   * to, 0 unless the sample has several. Keypoints all remain. */
  const int64_t* kept_indices;
  const int64_t* kept_images;
  uint64_t kept_count;
  const int64_t* lengths; /* polygons: points of each that remains */
} tenon_moved_target;
TENON_FREEZE(tenon_moved_target, lengths, 64);

typedef struct tenon_image_format {
  uint64_t size;
  int32_t dtype; /* TENON_FLOAT32 if the transforms normalise, else TENON_UINT8 */
  uint32_t ndim; /* 3 */
  /* [3, height, width] if the transforms normalise, else [height, width, 3]; -1 for an extent that differs between
   * images */
  const int64_t* shape;
  tenon_string steps; /* for tenon_preprocessing.steps */
  /* The names of the transforms that move pixels, such as `resize, horizontal_flip`, and of those among them that do
   * more than to scale the whole image. */
  tenon_string moving;
  tenon_string shifting;
  uint32_t is_random; /* 0 or 1: whether a transform depends on the seed */
  uint32_t reserved;
} tenon_image_format;
TENON_FREEZE(tenon_image_format, reserved, 80);

/* Images to examine before a run. */
typedef struct tenon_image_list {
  uint64_t size;
  uint64_t count;
  void* context;
  /* [train] Describes an image. What the source borrows stays valid until the next call. */
  tenon_status (*open)(void* context, uint64_t number, tenon_image_source* out);
  /* [train] Optional. Receives each examined image that its EXIF orientation turns upright: 2 to 8. */
  tenon_status (*found_orientation)(void* context, uint64_t number, int32_t orientation);
} tenon_image_list;
TENON_FREEZE(tenon_image_list, found_orientation, 40);

typedef struct tenon_image_pipeline tenon_image_pipeline; /* the transforms and settings of a dataset; never changes */
typedef struct tenon_image_worker tenon_image_worker;     /* the buffers of one thread */

typedef struct tenon_images {
  uint64_t size;

  /* [train] Reads the parameters of a dataset: the one with the name `transforms`, a list of strings, and no others; or
   * with an empty name the parameters `transforms`, `scaled_decoding`, `background`, `max_value`, `max_pixels`,
   * `cache`, `cache_bytes` and `cache_dir`, which its schema declares as tenon/draft/images.hpp does. Returns
   * TENON_INVALID_ARGUMENT naming the transform and what is wrong with it, TENON_NOT_FOUND naming a parameter that the
   * schema lacks, TENON_BAD_DATA for a folder of the cache that cannot be written to, and TENON_UNSUPPORTED if the
   * image library cannot be loaded. */
  tenon_status (*create)(const tenon_params* params, tenon_string transforms, tenon_image_pipeline** out);
  void (*destroy)(tenon_image_pipeline* pipeline); /* after its workers */

  /* [train] Describes what `write` writes. Valid while the pipeline lives. */
  tenon_status (*describe)(const tenon_image_pipeline* pipeline, tenon_image_format* out);

  /* [train] Reads at most 32 of the images, spread over all of them, and logs what samples may lose without an error:
   * transparency, the range of 16-bit values, and all frames but the first. An image that cannot be read is left out,
   * because its sample reports it. `examined`: how many could be read. */
  tenon_status (*examine)(const tenon_image_pipeline* pipeline, const tenon_image_list* list, uint64_t* examined);

  /* [train] [worker] A worker is used by one thread at a time. OpenCV uses one thread from then on. */
  tenon_status (*open_worker)(const tenon_image_pipeline* pipeline, tenon_image_worker** out);
  void (*close_worker)(tenon_image_worker* worker);

  /* [train] [worker] Reads the bytes of an image, and decodes its header. */
  tenon_status (*inspect)(tenon_image_worker* worker, const tenon_image_source* source, tenon_image_info* out);

  /* [train] [worker] Decodes an image without transforms. `form`: TENON_DECODE_... Returns TENON_BAD_DATA naming the
   * image. */
  tenon_status (*decode)(tenon_image_worker* worker, const tenon_image_source* source, uint32_t form,
                         tenon_pixels* out);

  /* [worker] Returns the samples that a sample is made of: `index` alone; or, if the transforms begin with mosaic and
   * it is drawn for this seed, `index` and three of the `length` samples of the dataset, drawn with replacement.
   * `indices` has room for TENON_MAX_IMAGES. Without this call, a dataset cannot be used with mosaic. */
  tenon_status (*sample_indices)(const tenon_image_pipeline* pipeline, int64_t index, int64_t length, uint64_t seed,
                                 int64_t* indices, uint64_t* count);

  /* [worker] Reads, decodes and transforms the images of a sample into a field, and moves their targets: one image, or
   * those of `sample_indices`. The random values depend on the seed, the size of the images and their boxes alone. With
   * equal seeds, images of one size are transformed alike, unless a transform uses boxes. The pixels are the same with
   * and without a cache. `info` is optional, and describes the first image. Returns TENON_BAD_DATA naming the image for
   * files that cannot be read, for masks of another size and for invalid boxes, and TENON_INVALID_ARGUMENT for
   * targets that contradict their descriptions. */
  tenon_status (*write)(tenon_image_worker* worker, const tenon_image_input* const* images, uint64_t count,
                        uint64_t seed, const tenon_sink* sink, uint64_t field, tenon_image_info* info);

  /* [worker] Returns a target of the last `write` with this worker, by its index. */
  tenon_status (*moved)(tenon_image_worker* worker, uint64_t index, tenon_moved_target* out);
} tenon_images;
TENON_FREEZE(tenon_images, moved, 96);

#ifdef __cplusplus
}
#endif
#endif
