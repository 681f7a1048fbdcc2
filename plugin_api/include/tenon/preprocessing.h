/* How a dataset makes the elements of its fields, as an extension of a dataset (tenon_component.get_extension). The
 * host writes it to exported models, so that a program without the dataset can make an input in the same way. A host
 * that does not know an extension never requests it. */
#ifndef TENON_PREPROCESSING_H
#define TENON_PREPROCESSING_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_PREPROCESSING "tenon.preprocessing/1"

typedef struct tenon_preprocessing {
  uint64_t size;
  tenon_string field; /* name of a field of the dataset */
  /* JSON in UTF-8, an array of objects in the order in which they are applied. The member "name" of each names the
   * step; its other members are all arguments with the values used, defaults included:
   * [{"name": "resize", "size": 256}, {"name": "normalize", "divide_by": 255, "mean": [0.5], "std": [0.5]}] */
  tenon_string steps;
} tenon_preprocessing;
TENON_FREEZE(tenon_preprocessing, steps, 40);

typedef struct tenon_preprocessing_lists {
  uint64_t size;

  /* [train] Returns the steps of the fields that have any, at most one list per field. They are valid while self lives,
   * and must not change. */
  tenon_status (*lists)(void* self, const tenon_preprocessing* const** lists, uint64_t* count);
} tenon_preprocessing_lists;
TENON_FREEZE(tenon_preprocessing_lists, lists, 16);

#ifdef __cplusplus
}
#endif
#endif
