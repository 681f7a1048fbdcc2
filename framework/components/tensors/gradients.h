// The host's side of the extension TENON_GRADIENT: functions of plugins as nodes of LibTorch's autograd.
#pragma once

#include <tenon/gradient.h>

namespace tenon::components {

const tenon_gradient& gradient_extension();

}  // namespace tenon::components
