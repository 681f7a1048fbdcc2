/* The layout of the dataset extension in class_names.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: a component provides it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_CLASS_NAMES, "tenon.class-names/1");

SIZED(tenon_class_names, 40);
FIELD(tenon_class_names, field, 8, tenon_string);
FIELD(tenon_class_names, count, 24, uint64_t);
FIELD(tenon_class_names, names, 32, const tenon_string*);

SIZED(tenon_class_lists, 16);
FIELD(tenon_class_lists, classes, 8, tenon_status (*)(void*, const tenon_class_names* const**, uint64_t*));
