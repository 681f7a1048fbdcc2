/* The layout of the dataset extension in sample_names.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: a component provides it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_SAMPLE_NAMES, "tenon.sample-names/1");

SIZED(tenon_sample_names, 16);
FIELD(tenon_sample_names, name, 8, tenon_status (*)(void*, int64_t, const tenon_text_sink*));
