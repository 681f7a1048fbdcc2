/* The layout of the extension in capture.h, checked as in 1_0.c. It was added after version 1.0 and belongs to
 * no version: a component provides it by id. Compiled as C and as C++. */
#include <tenon/capture.h>

#include "1_0.c"

TEXT(TENON_CAPTURE, "tenon.capture/1");

SIZED(tenon_capture, 16);
FIELD(tenon_capture, is_capturable, 8, tenon_status (*)(void*, uint32_t*));
