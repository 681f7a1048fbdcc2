// The host's side of the extension TENON_RUN_TENSORS: the trained tensors and statistics of them.
#pragma once

#include <tenon/run_tensors.h>

namespace tenon::components {

const tenon_run_tensors& run_tensors_extension();

}  // namespace tenon::components
