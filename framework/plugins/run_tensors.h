// The host's side of the extension TENON_RUN_TENSORS: what is trained, and figures of it.
#pragma once

#include <tenon/run_tensors.h>

namespace tenon::plugins {

const tenon_run_tensors& run_tensors_extension();

}  // namespace tenon::plugins
