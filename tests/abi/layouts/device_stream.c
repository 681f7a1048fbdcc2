/* The layout of the extension in device_stream.h, checked as in 1_0.c. It was added after version 1.0 and
 * belongs to no version: the host provides it by id. Compiled as C and as C++. */
#include <tenon/device_stream.h>

#include "1_0.c"

TEXT(TENON_DEVICE_STREAM, "tenon.device-stream/1");

SIZED(tenon_stream, 24);
FIELD(tenon_stream, device_type, 8, int32_t);
FIELD(tenon_stream, device_index, 12, int32_t);
FIELD(tenon_stream, handle, 16, void*);

SIZED(tenon_device_stream, 24);
FIELD(tenon_device_stream, current, 8, tenon_status (*)(const tenon_tensor*, tenon_stream*));
FIELD(tenon_device_stream, data, 16, tenon_status (*)(tenon_tensor*, void**));
