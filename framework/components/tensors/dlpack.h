// The host's side of the DLPack extension, which exchanges tensors with other libraries: see tenon/dlpack.h.
#pragma once

#include <tenon/dlpack.h>

namespace tenon::components {

const tenon_dlpack& dlpack_extension();

}  // namespace tenon::components
