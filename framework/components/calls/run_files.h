// Lists the files of a run for TENON_RUN_VALUES.
#pragma once

#include <tenon/run_values.h>

namespace tenon::components {

// The implementation of tenon_run_values.files.
tenon_status list_run_files(tenon_string folder, void* context, void (*add)(void* context, tenon_string path));

}  // namespace tenon::components
