/* The layout of the dataset extension in preprocessing.h, checked as in 1_0.c. It was added after version 1.0
 * and belongs to no version: a component provides it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_PREPROCESSING, "tenon.preprocessing/1");

SIZED(tenon_preprocessing, 40);
FIELD(tenon_preprocessing, field, 8, tenon_string);
FIELD(tenon_preprocessing, steps, 24, tenon_string);

SIZED(tenon_preprocessing_lists, 16);
FIELD(tenon_preprocessing_lists, lists, 8, tenon_status (*)(void*, const tenon_preprocessing* const**, uint64_t*));
