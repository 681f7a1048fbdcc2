// The host's side of the extension TENON_DEVICE_STREAM: current devices and streams, and the memory of tensors.
#pragma once

#include <tenon/device_stream.h>

namespace tenon::components {

const tenon_device_stream& device_stream_extension();

}  // namespace tenon::components
