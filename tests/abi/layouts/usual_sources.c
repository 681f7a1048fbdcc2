/* The layout of the extension in usual_sources.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: a component provides it by id. Compiled as C and as C++. */
#include "1_0.c"

TEXT(TENON_USUAL_SOURCES, "tenon.usual-sources/1");

FIELD(tenon_usual_source, input, 0, tenon_string);
FIELD(tenon_usual_source, source, 16, tenon_string);

SIZED(tenon_usual_sources, 16);
FIELD(tenon_usual_sources, sources, 8, tenon_status (*)(void*, const tenon_usual_source**, uint64_t*));
