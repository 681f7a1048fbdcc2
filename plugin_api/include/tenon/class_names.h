/* The classes of a dataset's fields, as an extension of a dataset (tenon_component.get_extension). A folder with some
 * of the classes of another numbers them differently. With names, the host connects the same classes of training data,
 * validation data and trained weights, and refuses data with classes that the weights do not know. A host that does not
 * know an extension never requests it. */
#ifndef TENON_CLASS_NAMES_H
#define TENON_CLASS_NAMES_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_CLASS_NAMES "tenon.class-names/1"

/* The classes of a field that holds numbers of classes. */
typedef struct tenon_class_names {
  uint64_t size;
  tenon_string field; /* name of a field of the dataset with an integer dtype: `label` */
  /* Number of classes, at least 1. The elements of the field are 0 to count - 1. Other elements, such as the number of
   * pixels that belong to no class, have no name and stay as they are. */
  uint64_t count;
  /* The names of the classes 0 to count - 1: UTF-8, not empty, each different from the others. Null if the data do not
   * name their classes. */
  const tenon_string* names;
} tenon_class_names;
TENON_FREEZE(tenon_class_names, names, 40);

typedef struct tenon_class_lists {
  uint64_t size;

  /* [train] Returns the classes of the fields that have any, at most one list per field. They are valid while self
   * lives, and must not change. Samples keep the dataset's numbers: the host translates them. */
  tenon_status (*classes)(void* self, const tenon_class_names* const** classes, uint64_t* count);
} tenon_class_lists;
TENON_FREEZE(tenon_class_lists, classes, 16);

#ifdef __cplusplus
}
#endif
#endif
