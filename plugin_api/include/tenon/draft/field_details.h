/* Details of a dataset's fields, as an extension of a dataset (tenon_component.get_extension): fields that hold places
 * in an image, and the least size of padded fields. The host draws boxes and keypoints into the images of samples and
 * predictions, and refuses test-time augmentation that mirrors an image but not its boxes, keypoints or angles. A
 * draft: it may change or be removed in any release. */
#ifndef TENON_FIELD_DETAILS_H
#define TENON_FIELD_DETAILS_H

#include "../abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_FIELD_DETAILS "tenon.draft.field-details/1"

enum {
  TENON_FIELD_NUMBERS = 0,   /* no place in an image */
  TENON_FIELD_BOXES = 1,     /* floats [M, 4]: left, top, right, bottom, in pixels from the top left corner */
  TENON_FIELD_KEYPOINTS = 2, /* floats [..., 2] or [..., 3]: x, y in the same pixels, and 0 for a point to leave out */
  TENON_FIELD_ANGLES = 3     /* floats of any shape: directions in the image, in any unit */
};

typedef struct tenon_field_detail {
  uint64_t size;
  tenon_string field; /* name of a field of the dataset */
  uint32_t role;      /* TENON_FIELD_... */
  uint32_t reserved;
  tenon_string image;   /* the field with the image. Required for each role but TENON_FIELD_NUMBERS */
  tenon_string classes; /* For boxes: the integer field [M] with the class of each. Empty: none */
  int64_t least_extent; /* A batch is padded to at least this size, along each extent of -1; 0: no least size */
} tenon_field_detail;
TENON_FREEZE(tenon_field_detail, least_extent, 72);

typedef struct tenon_field_details {
  uint64_t size;

  /* [train] Returns the details, at most one for each field, valid while self lives. */
  tenon_status (*details)(void* self, const tenon_field_detail* const** details, uint64_t* count);
} tenon_field_details;
TENON_FREEZE(tenon_field_details, details, 16);

#ifdef __cplusplus
}
#endif
#endif
